-- quote
"a column";

-- has_nul
contains(x, chr(0));

-- hash
sha256(x);

-- hash_number
CAST(concat('0x', left(sha256(x), 15)) AS BIGINT);

-- cast VARCHAR
CAST(x AS VARCHAR);

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
CAST(x AS VARCHAR);

-- text DECIMAL(10,2)
CAST(x AS VARCHAR);

-- text DECIMAL(2,2)
CAST(x AS VARCHAR);

-- text DOUBLE
CASE
    WHEN abs(CAST(x + 0 AS DOUBLE)) < 1e16 AND CAST(x + 0 AS DOUBLE) = floor(CAST(x + 0 AS DOUBLE)) THEN coalesce(CAST(TRY_CAST(CAST(CASE
    WHEN CAST(printf('%.15g', CAST(x + 0 AS DOUBLE)) AS DOUBLE) = CAST(x + 0 AS DOUBLE) THEN printf('%.15g', CAST(x + 0 AS DOUBLE))
    WHEN CAST(printf('%.16g', CAST(x + 0 AS DOUBLE)) AS DOUBLE) = CAST(x + 0 AS DOUBLE) THEN printf('%.16g', CAST(x + 0 AS DOUBLE))
    ELSE printf('%.17g', CAST(x + 0 AS DOUBLE)) END AS DOUBLE) AS BIGINT) AS VARCHAR) || '.0', (CASE
    WHEN abs(CAST(x + 0 AS DOUBLE)) >= 1e16 AND isfinite(CAST(x + 0 AS DOUBLE)) THEN regexp_replace(CASE
    WHEN CAST(printf('%.14e', CAST(x + 0 AS DOUBLE)) AS DOUBLE) = CAST(x + 0 AS DOUBLE) THEN printf('%.14e', CAST(x + 0 AS DOUBLE))
    WHEN CAST(printf('%.15e', CAST(x + 0 AS DOUBLE)) AS DOUBLE) = CAST(x + 0 AS DOUBLE) THEN printf('%.15e', CAST(x + 0 AS DOUBLE))
    ELSE printf('%.16e', CAST(x + 0 AS DOUBLE)) END, '[.]?0*e', 'e')
    ELSE CASE
    WHEN CAST(printf('%.15g', CAST(x + 0 AS DOUBLE)) AS DOUBLE) = CAST(x + 0 AS DOUBLE) THEN printf('%.15g', CAST(x + 0 AS DOUBLE))
    WHEN CAST(printf('%.16g', CAST(x + 0 AS DOUBLE)) AS DOUBLE) = CAST(x + 0 AS DOUBLE) THEN printf('%.16g', CAST(x + 0 AS DOUBLE))
    ELSE printf('%.17g', CAST(x + 0 AS DOUBLE)) END END))
    WHEN TRY_CAST(CAST(CAST(CAST(x + 0 AS DOUBLE) AS DOUBLE) AS VARCHAR) AS DOUBLE) = CAST(x + 0 AS DOUBLE) AND length(CAST(CAST(CAST(x + 0 AS DOUBLE) AS DOUBLE) AS VARCHAR)) < length((CASE
    WHEN abs(CAST(x + 0 AS DOUBLE)) >= 1e16 AND isfinite(CAST(x + 0 AS DOUBLE)) THEN regexp_replace(CASE
    WHEN CAST(printf('%.14e', CAST(x + 0 AS DOUBLE)) AS DOUBLE) = CAST(x + 0 AS DOUBLE) THEN printf('%.14e', CAST(x + 0 AS DOUBLE))
    WHEN CAST(printf('%.15e', CAST(x + 0 AS DOUBLE)) AS DOUBLE) = CAST(x + 0 AS DOUBLE) THEN printf('%.15e', CAST(x + 0 AS DOUBLE))
    ELSE printf('%.16e', CAST(x + 0 AS DOUBLE)) END, '[.]?0*e', 'e')
    ELSE CASE
    WHEN CAST(printf('%.15g', CAST(x + 0 AS DOUBLE)) AS DOUBLE) = CAST(x + 0 AS DOUBLE) THEN printf('%.15g', CAST(x + 0 AS DOUBLE))
    WHEN CAST(printf('%.16g', CAST(x + 0 AS DOUBLE)) AS DOUBLE) = CAST(x + 0 AS DOUBLE) THEN printf('%.16g', CAST(x + 0 AS DOUBLE))
    ELSE printf('%.17g', CAST(x + 0 AS DOUBLE)) END END)) THEN CAST(CAST(CAST(x + 0 AS DOUBLE) AS DOUBLE) AS VARCHAR)
    ELSE (CASE
    WHEN abs(CAST(x + 0 AS DOUBLE)) >= 1e16 AND isfinite(CAST(x + 0 AS DOUBLE)) THEN regexp_replace(CASE
    WHEN CAST(printf('%.14e', CAST(x + 0 AS DOUBLE)) AS DOUBLE) = CAST(x + 0 AS DOUBLE) THEN printf('%.14e', CAST(x + 0 AS DOUBLE))
    WHEN CAST(printf('%.15e', CAST(x + 0 AS DOUBLE)) AS DOUBLE) = CAST(x + 0 AS DOUBLE) THEN printf('%.15e', CAST(x + 0 AS DOUBLE))
    ELSE printf('%.16e', CAST(x + 0 AS DOUBLE)) END, '[.]?0*e', 'e')
    ELSE CASE
    WHEN CAST(printf('%.15g', CAST(x + 0 AS DOUBLE)) AS DOUBLE) = CAST(x + 0 AS DOUBLE) THEN printf('%.15g', CAST(x + 0 AS DOUBLE))
    WHEN CAST(printf('%.16g', CAST(x + 0 AS DOUBLE)) AS DOUBLE) = CAST(x + 0 AS DOUBLE) THEN printf('%.16g', CAST(x + 0 AS DOUBLE))
    ELSE printf('%.17g', CAST(x + 0 AS DOUBLE)) END END) END;

-- text FLOAT
CASE
    WHEN abs(CAST(x + 0 AS DOUBLE)) < 1e16 AND CAST(x + 0 AS DOUBLE) = floor(CAST(x + 0 AS DOUBLE)) THEN coalesce(CAST(TRY_CAST(CAST(CASE
    WHEN CAST(printf('%.6g', CAST(x + 0 AS DOUBLE)) AS FLOAT) = CAST(x + 0 AS DOUBLE) THEN printf('%.6g', CAST(x + 0 AS DOUBLE))
    WHEN CAST(printf('%.7g', CAST(x + 0 AS DOUBLE)) AS FLOAT) = CAST(x + 0 AS DOUBLE) THEN printf('%.7g', CAST(x + 0 AS DOUBLE))
    WHEN CAST(printf('%.8g', CAST(x + 0 AS DOUBLE)) AS FLOAT) = CAST(x + 0 AS DOUBLE) THEN printf('%.8g', CAST(x + 0 AS DOUBLE))
    ELSE printf('%.9g', CAST(x + 0 AS DOUBLE)) END AS DOUBLE) AS BIGINT) AS VARCHAR) || '.0', (CASE
    WHEN abs(CAST(x + 0 AS DOUBLE)) >= 1e16 AND isfinite(CAST(x + 0 AS DOUBLE)) THEN regexp_replace(CASE
    WHEN CAST(printf('%.5e', CAST(x + 0 AS DOUBLE)) AS FLOAT) = CAST(x + 0 AS DOUBLE) THEN printf('%.5e', CAST(x + 0 AS DOUBLE))
    WHEN CAST(printf('%.6e', CAST(x + 0 AS DOUBLE)) AS FLOAT) = CAST(x + 0 AS DOUBLE) THEN printf('%.6e', CAST(x + 0 AS DOUBLE))
    WHEN CAST(printf('%.7e', CAST(x + 0 AS DOUBLE)) AS FLOAT) = CAST(x + 0 AS DOUBLE) THEN printf('%.7e', CAST(x + 0 AS DOUBLE))
    ELSE printf('%.8e', CAST(x + 0 AS DOUBLE)) END, '[.]?0*e', 'e')
    ELSE CASE
    WHEN CAST(printf('%.6g', CAST(x + 0 AS DOUBLE)) AS FLOAT) = CAST(x + 0 AS DOUBLE) THEN printf('%.6g', CAST(x + 0 AS DOUBLE))
    WHEN CAST(printf('%.7g', CAST(x + 0 AS DOUBLE)) AS FLOAT) = CAST(x + 0 AS DOUBLE) THEN printf('%.7g', CAST(x + 0 AS DOUBLE))
    WHEN CAST(printf('%.8g', CAST(x + 0 AS DOUBLE)) AS FLOAT) = CAST(x + 0 AS DOUBLE) THEN printf('%.8g', CAST(x + 0 AS DOUBLE))
    ELSE printf('%.9g', CAST(x + 0 AS DOUBLE)) END END))
    WHEN TRY_CAST(CAST(CAST(CAST(x + 0 AS DOUBLE) AS FLOAT) AS VARCHAR) AS FLOAT) = CAST(x + 0 AS DOUBLE) AND length(CAST(CAST(CAST(x + 0 AS DOUBLE) AS FLOAT) AS VARCHAR)) < length((CASE
    WHEN abs(CAST(x + 0 AS DOUBLE)) >= 1e16 AND isfinite(CAST(x + 0 AS DOUBLE)) THEN regexp_replace(CASE
    WHEN CAST(printf('%.5e', CAST(x + 0 AS DOUBLE)) AS FLOAT) = CAST(x + 0 AS DOUBLE) THEN printf('%.5e', CAST(x + 0 AS DOUBLE))
    WHEN CAST(printf('%.6e', CAST(x + 0 AS DOUBLE)) AS FLOAT) = CAST(x + 0 AS DOUBLE) THEN printf('%.6e', CAST(x + 0 AS DOUBLE))
    WHEN CAST(printf('%.7e', CAST(x + 0 AS DOUBLE)) AS FLOAT) = CAST(x + 0 AS DOUBLE) THEN printf('%.7e', CAST(x + 0 AS DOUBLE))
    ELSE printf('%.8e', CAST(x + 0 AS DOUBLE)) END, '[.]?0*e', 'e')
    ELSE CASE
    WHEN CAST(printf('%.6g', CAST(x + 0 AS DOUBLE)) AS FLOAT) = CAST(x + 0 AS DOUBLE) THEN printf('%.6g', CAST(x + 0 AS DOUBLE))
    WHEN CAST(printf('%.7g', CAST(x + 0 AS DOUBLE)) AS FLOAT) = CAST(x + 0 AS DOUBLE) THEN printf('%.7g', CAST(x + 0 AS DOUBLE))
    WHEN CAST(printf('%.8g', CAST(x + 0 AS DOUBLE)) AS FLOAT) = CAST(x + 0 AS DOUBLE) THEN printf('%.8g', CAST(x + 0 AS DOUBLE))
    ELSE printf('%.9g', CAST(x + 0 AS DOUBLE)) END END)) THEN CAST(CAST(CAST(x + 0 AS DOUBLE) AS FLOAT) AS VARCHAR)
    ELSE (CASE
    WHEN abs(CAST(x + 0 AS DOUBLE)) >= 1e16 AND isfinite(CAST(x + 0 AS DOUBLE)) THEN regexp_replace(CASE
    WHEN CAST(printf('%.5e', CAST(x + 0 AS DOUBLE)) AS FLOAT) = CAST(x + 0 AS DOUBLE) THEN printf('%.5e', CAST(x + 0 AS DOUBLE))
    WHEN CAST(printf('%.6e', CAST(x + 0 AS DOUBLE)) AS FLOAT) = CAST(x + 0 AS DOUBLE) THEN printf('%.6e', CAST(x + 0 AS DOUBLE))
    WHEN CAST(printf('%.7e', CAST(x + 0 AS DOUBLE)) AS FLOAT) = CAST(x + 0 AS DOUBLE) THEN printf('%.7e', CAST(x + 0 AS DOUBLE))
    ELSE printf('%.8e', CAST(x + 0 AS DOUBLE)) END, '[.]?0*e', 'e')
    ELSE CASE
    WHEN CAST(printf('%.6g', CAST(x + 0 AS DOUBLE)) AS FLOAT) = CAST(x + 0 AS DOUBLE) THEN printf('%.6g', CAST(x + 0 AS DOUBLE))
    WHEN CAST(printf('%.7g', CAST(x + 0 AS DOUBLE)) AS FLOAT) = CAST(x + 0 AS DOUBLE) THEN printf('%.7g', CAST(x + 0 AS DOUBLE))
    WHEN CAST(printf('%.8g', CAST(x + 0 AS DOUBLE)) AS FLOAT) = CAST(x + 0 AS DOUBLE) THEN printf('%.8g', CAST(x + 0 AS DOUBLE))
    ELSE printf('%.9g', CAST(x + 0 AS DOUBLE)) END END) END;

-- text BOOLEAN
CAST(x AS VARCHAR);

-- text DATE
CAST(x AS VARCHAR);

-- text TIMESTAMP
CAST(x AS VARCHAR);

-- text TIMESTAMP WITH TIME ZONE
CAST(x AS VARCHAR);
