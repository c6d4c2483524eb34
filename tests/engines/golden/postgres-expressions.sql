-- quote
"a column";

-- has_nul
FALSE;

-- hash
encode(sha256(convert_to(x, 'UTF8')), 'hex');

-- hash_number
CAST(CAST(concat('x', left(encode(sha256(convert_to(x, 'UTF8')), 'hex'), 15)) AS bit(60)) AS bigint);

-- cast VARCHAR
CAST(x AS text) COLLATE "C";

-- cast BIGINT
CAST(CAST(x AS numeric) AS bigint);

-- cast DOUBLE
CAST(x AS double precision);

-- cast DATE
CAST(x AS DATE);

-- cast TIMESTAMP
CAST(x AS TIMESTAMP);

-- cast BOOLEAN
CAST(x AS BOOLEAN);

-- text VARCHAR
CAST(x AS text) COLLATE "C";

-- text BIGINT
CAST(x AS text) COLLATE "C";

-- text DECIMAL(10,2)
CAST(x AS text) COLLATE "C";

-- text DECIMAL(2,2)
CAST(x AS text) COLLATE "C";

-- text DOUBLE
CASE
    WHEN abs((x + 0)) < CAST('1e15' AS double precision) AND (x + 0) = floor((x + 0)) THEN concat(CAST((x + 0) AS text), '.0')
    WHEN abs((x + 0)) < CAST('1e15' AS double precision) THEN CAST((x + 0) AS text)
    WHEN abs((x + 0)) >= CAST('Infinity' AS double precision) THEN replace(lower(CAST((x + 0) AS text)), 'inity', '')
    WHEN abs((x + 0)) >= CAST('9e15' AS double precision) AND abs((x + 0)) < CAST('1e40' AS double precision) THEN (SELECT CASE
    WHEN abs((x + 0)) < CAST('1e16' AS double precision) THEN CASE
    WHEN CAST(concat(trim_scale(round(CAST(split_part(CAST((x + 0) AS text), 'e', 1) AS numeric), digits)), 'e', CAST(split_part(CAST((x + 0) AS text), 'e', 2) AS integer)) AS numeric) = floor(CAST(concat(trim_scale(round(CAST(split_part(CAST((x + 0) AS text), 'e', 1) AS numeric), digits)), 'e', CAST(split_part(CAST((x + 0) AS text), 'e', 2) AS integer)) AS numeric)) THEN concat(trunc(CAST(concat(trim_scale(round(CAST(split_part(CAST((x + 0) AS text), 'e', 1) AS numeric), digits)), 'e', CAST(split_part(CAST((x + 0) AS text), 'e', 2) AS integer)) AS numeric)), '.0')
    ELSE CAST(CAST(concat(trim_scale(round(CAST(split_part(CAST((x + 0) AS text), 'e', 1) AS numeric), digits)), 'e', CAST(split_part(CAST((x + 0) AS text), 'e', 2) AS integer)) AS numeric) AS text) END
    ELSE concat(trim_scale(trim_scale(round(CAST(split_part(CAST((x + 0) AS text), 'e', 1) AS numeric), digits)) / CASE
    WHEN abs(trim_scale(round(CAST(split_part(CAST((x + 0) AS text), 'e', 1) AS numeric), digits))) = 10 THEN 10
    ELSE 1 END), 'e+', CAST(split_part(CAST((x + 0) AS text), 'e', 2) AS integer) + CASE
    WHEN abs(trim_scale(round(CAST(split_part(CAST((x + 0) AS text), 'e', 1) AS numeric), digits))) = 10 THEN 1
    ELSE 0 END) END FROM generate_series(0, 17) AS search(digits) WHERE CAST(concat(trim_scale(round(CAST(split_part(CAST((x + 0) AS text), 'e', 1) AS numeric), digits)), 'e', CAST(split_part(CAST((x + 0) AS text), 'e', 2) AS integer)) AS double precision) = (x + 0) ORDER BY digits LIMIT 1)
    WHEN abs((x + 0)) < CAST('1e16' AS double precision) THEN CASE
    WHEN CAST(CAST((x + 0) AS text) AS numeric) = floor(CAST(CAST((x + 0) AS text) AS numeric)) THEN concat(trunc(CAST(CAST((x + 0) AS text) AS numeric)), '.0')
    ELSE CAST(CAST(CAST((x + 0) AS text) AS numeric) AS text) END
    ELSE CAST((x + 0) AS text) END;

-- text FLOAT
CASE
    WHEN abs((x + CAST(0 AS real))) < CAST('1e6' AS real) AND (x + CAST(0 AS real)) = floor((x + CAST(0 AS real))) THEN concat(CAST((x + CAST(0 AS real)) AS text), '.0')
    WHEN abs((x + CAST(0 AS real))) < CAST('1e6' AS real) THEN CAST((x + CAST(0 AS real)) AS text)
    WHEN abs((x + CAST(0 AS real))) >= CAST('Infinity' AS real) THEN replace(lower(CAST((x + CAST(0 AS real)) AS text)), 'inity', '')
    WHEN abs((x + CAST(0 AS real))) >= CAST('1.6e7' AS real) AND abs((x + CAST(0 AS real))) < CAST('1e20' AS real) THEN (SELECT CASE
    WHEN abs((x + CAST(0 AS real))) < CAST('1e16' AS real) THEN CASE
    WHEN CAST(concat(trim_scale(round(CAST(split_part(CAST((x + CAST(0 AS real)) AS text), 'e', 1) AS numeric), digits)), 'e', CAST(split_part(CAST((x + CAST(0 AS real)) AS text), 'e', 2) AS integer)) AS numeric) = floor(CAST(concat(trim_scale(round(CAST(split_part(CAST((x + CAST(0 AS real)) AS text), 'e', 1) AS numeric), digits)), 'e', CAST(split_part(CAST((x + CAST(0 AS real)) AS text), 'e', 2) AS integer)) AS numeric)) THEN concat(trunc(CAST(concat(trim_scale(round(CAST(split_part(CAST((x + CAST(0 AS real)) AS text), 'e', 1) AS numeric), digits)), 'e', CAST(split_part(CAST((x + CAST(0 AS real)) AS text), 'e', 2) AS integer)) AS numeric)), '.0')
    ELSE CAST(CAST(concat(trim_scale(round(CAST(split_part(CAST((x + CAST(0 AS real)) AS text), 'e', 1) AS numeric), digits)), 'e', CAST(split_part(CAST((x + CAST(0 AS real)) AS text), 'e', 2) AS integer)) AS numeric) AS text) END
    ELSE concat(trim_scale(trim_scale(round(CAST(split_part(CAST((x + CAST(0 AS real)) AS text), 'e', 1) AS numeric), digits)) / CASE
    WHEN abs(trim_scale(round(CAST(split_part(CAST((x + CAST(0 AS real)) AS text), 'e', 1) AS numeric), digits))) = 10 THEN 10
    ELSE 1 END), 'e+', CAST(split_part(CAST((x + CAST(0 AS real)) AS text), 'e', 2) AS integer) + CASE
    WHEN abs(trim_scale(round(CAST(split_part(CAST((x + CAST(0 AS real)) AS text), 'e', 1) AS numeric), digits))) = 10 THEN 1
    ELSE 0 END) END FROM generate_series(0, 17) AS search(digits) WHERE CAST(concat(trim_scale(round(CAST(split_part(CAST((x + CAST(0 AS real)) AS text), 'e', 1) AS numeric), digits)), 'e', CAST(split_part(CAST((x + CAST(0 AS real)) AS text), 'e', 2) AS integer)) AS real) = (x + CAST(0 AS real)) ORDER BY digits LIMIT 1)
    WHEN abs((x + CAST(0 AS real))) < CAST('1e16' AS real) THEN CASE
    WHEN CAST(CAST((x + CAST(0 AS real)) AS text) AS numeric) = floor(CAST(CAST((x + CAST(0 AS real)) AS text) AS numeric)) THEN concat(trunc(CAST(CAST((x + CAST(0 AS real)) AS text) AS numeric)), '.0')
    ELSE CAST(CAST(CAST((x + CAST(0 AS real)) AS text) AS numeric) AS text) END
    ELSE CAST((x + CAST(0 AS real)) AS text) END;

-- text BOOLEAN
CAST(x AS text) COLLATE "C";

-- text DATE
CAST(x AS text) COLLATE "C";

-- text TIMESTAMP
CAST(x AS text) COLLATE "C";

-- text TIMESTAMP WITH TIME ZONE
CAST(x AS text) COLLATE "C";
