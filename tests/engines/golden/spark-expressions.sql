-- quote
`a column`;

-- has_nul
instr(x, chr(0)) > 0;

-- hash
sha2(x, 256);

-- hash_number
CAST(conv(left(sha2(x, 256), 15), 16, 10) AS BIGINT);

-- cast VARCHAR
CAST(x AS STRING);

-- cast BIGINT
CAST(x AS BIGINT);

-- cast DOUBLE
CAST(x AS DOUBLE);

-- cast DATE
CAST(x AS DATE);

-- cast TIMESTAMP
CAST(x AS TIMESTAMP);

-- cast BOOLEAN
CAST(x AS BOOLEAN);

-- text VARCHAR
x;

-- text BIGINT
CAST(x AS STRING);

-- text DECIMAL(10,2)
CAST(x AS STRING);

-- text DECIMAL(2,2)
regexp_replace(CAST(x AS STRING), '^(-?)0[.]', '$1.');

-- text DOUBLE
CASE
    WHEN x IS NULL THEN NULL
    ELSE transform(array(reflect('com.fasterxml.jackson.core.io.schubfach.DoubleToDecimal', 'toString', coalesce(x, 0D) + 0D)), j -> CASE
    WHEN j IS NULL OR instr(j, 'E') = 0 THEN CASE j
    WHEN 'NaN' THEN 'nan'
    WHEN 'Infinity' THEN 'inf'
    WHEN '-Infinity' THEN '-inf'
    ELSE j END
    WHEN CAST(substring_index(j, 'E', -1) AS INT) BETWEEN -4 AND 15 THEN regexp_replace(rtrim('0', CAST(CAST(j AS DECIMAL(38, 21)) AS STRING)), '[.]$', '.0')
    ELSE CASE j
    WHEN '4.9E-324' THEN '5e-324'
    WHEN '-4.9E-324' THEN '-5e-324'
    WHEN '9.9E-324' THEN '1e-323'
    WHEN '-9.9E-324' THEN '-1e-323'
    WHEN '4.9E-323' THEN '5e-323'
    WHEN '-4.9E-323' THEN '-5e-323'
    WHEN '5.9E-323' THEN '6e-323'
    WHEN '-5.9E-323' THEN '-6e-323'
    WHEN '6.9E-323' THEN '7e-323'
    WHEN '-6.9E-323' THEN '-7e-323'
    WHEN '7.9E-323' THEN '8e-323'
    WHEN '-7.9E-323' THEN '-8e-323'
    WHEN '8.9E-323' THEN '9e-323'
    WHEN '-8.9E-323' THEN '-9e-323'
    WHEN '9.9E-323' THEN '1e-322'
    WHEN '-9.9E-323' THEN '-1e-322'
    WHEN '1.4E-45' THEN '1e-45'
    WHEN '-1.4E-45' THEN '-1e-45'
    WHEN '2.8E-45' THEN '3e-45'
    WHEN '-2.8E-45' THEN '-3e-45'
    WHEN '4.2E-45' THEN '4e-45'
    WHEN '-4.2E-45' THEN '-4e-45'
    WHEN '5.6E-45' THEN '6e-45'
    WHEN '-5.6E-45' THEN '-6e-45'
    WHEN '8.4E-45' THEN '8e-45'
    WHEN '-8.4E-45' THEN '-8e-45'
    WHEN '9.8E-45' THEN '1e-44'
    WHEN '-9.8E-45' THEN '-1e-44'
    WHEN '9.9E-44' THEN '1e-43'
    WHEN '-9.9E-44' THEN '-1e-43'
    ELSE concat(regexp_replace(substring_index(j, 'E', 1), '[.]0$', ''), CASE
    WHEN CAST(substring_index(j, 'E', -1) AS INT) < 0 THEN 'e-'
    ELSE 'e+' END, CASE
    WHEN abs(CAST(substring_index(j, 'E', -1) AS INT)) < 10 THEN '0'
    ELSE '' END, CAST(abs(CAST(substring_index(j, 'E', -1) AS INT)) AS STRING)) END END)[0] END;

-- text FLOAT
CASE
    WHEN x IS NULL THEN NULL
    ELSE transform(array(reflect('com.fasterxml.jackson.core.io.schubfach.FloatToDecimal', 'toString', coalesce(x, CAST(0 AS FLOAT)) + CAST(0 AS FLOAT))), j -> CASE
    WHEN j IS NULL OR instr(j, 'E') = 0 THEN CASE j
    WHEN 'NaN' THEN 'nan'
    WHEN 'Infinity' THEN 'inf'
    WHEN '-Infinity' THEN '-inf'
    ELSE j END
    WHEN CAST(substring_index(j, 'E', -1) AS INT) BETWEEN -4 AND 15 THEN regexp_replace(rtrim('0', CAST(CAST(j AS DECIMAL(38, 21)) AS STRING)), '[.]$', '.0')
    ELSE CASE j
    WHEN '4.9E-324' THEN '5e-324'
    WHEN '-4.9E-324' THEN '-5e-324'
    WHEN '9.9E-324' THEN '1e-323'
    WHEN '-9.9E-324' THEN '-1e-323'
    WHEN '4.9E-323' THEN '5e-323'
    WHEN '-4.9E-323' THEN '-5e-323'
    WHEN '5.9E-323' THEN '6e-323'
    WHEN '-5.9E-323' THEN '-6e-323'
    WHEN '6.9E-323' THEN '7e-323'
    WHEN '-6.9E-323' THEN '-7e-323'
    WHEN '7.9E-323' THEN '8e-323'
    WHEN '-7.9E-323' THEN '-8e-323'
    WHEN '8.9E-323' THEN '9e-323'
    WHEN '-8.9E-323' THEN '-9e-323'
    WHEN '9.9E-323' THEN '1e-322'
    WHEN '-9.9E-323' THEN '-1e-322'
    WHEN '1.4E-45' THEN '1e-45'
    WHEN '-1.4E-45' THEN '-1e-45'
    WHEN '2.8E-45' THEN '3e-45'
    WHEN '-2.8E-45' THEN '-3e-45'
    WHEN '4.2E-45' THEN '4e-45'
    WHEN '-4.2E-45' THEN '-4e-45'
    WHEN '5.6E-45' THEN '6e-45'
    WHEN '-5.6E-45' THEN '-6e-45'
    WHEN '8.4E-45' THEN '8e-45'
    WHEN '-8.4E-45' THEN '-8e-45'
    WHEN '9.8E-45' THEN '1e-44'
    WHEN '-9.8E-45' THEN '-1e-44'
    WHEN '9.9E-44' THEN '1e-43'
    WHEN '-9.9E-44' THEN '-1e-43'
    ELSE concat(regexp_replace(substring_index(j, 'E', 1), '[.]0$', ''), CASE
    WHEN CAST(substring_index(j, 'E', -1) AS INT) < 0 THEN 'e-'
    ELSE 'e+' END, CASE
    WHEN abs(CAST(substring_index(j, 'E', -1) AS INT)) < 10 THEN '0'
    ELSE '' END, CAST(abs(CAST(substring_index(j, 'E', -1) AS INT)) AS STRING)) END END)[0] END;

-- text BOOLEAN
CAST(x AS STRING);

-- text DATE
CAST(x AS STRING);

-- text TIMESTAMP
CAST(x AS STRING);

-- text TIMESTAMP WITH TIME ZONE
concat(CAST(x AS STRING), '+00');
