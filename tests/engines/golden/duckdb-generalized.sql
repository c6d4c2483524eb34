CREATE OR REPLACE TEMP TABLE source AS SELECT "no" AS row_key, "age" AS c0, "sex" AS c1, "born" AS c2, "height" AS c3, "disease" AS c4, "wave" AS x0
  FROM read_csv('FOLDER/people.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'no': 'VARCHAR', 'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'wave': 'VARCHAR', 'disease': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000);

SELECT count(*) AS n
  FROM source;

SELECT count(DISTINCT row_key) AS n, count(row_key) AS given
  FROM source;

SELECT count(*) AS n
  FROM source
  WHERE x0 = '*';

SELECT count(*) AS n
  FROM source
  WHERE contains(x0, chr(0));

SELECT c0 AS v, count(*) AS n
  FROM source
  GROUP BY c0;

CREATE OR REPLACE TEMP TABLE dictionary_0 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_0;

SELECT c1 AS v, count(*) AS n
  FROM source
  GROUP BY c1;

CREATE OR REPLACE TEMP TABLE dictionary_1 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_1;

SELECT c2 AS v, count(*) AS n
  FROM source
  GROUP BY c2;

CREATE OR REPLACE TEMP TABLE dictionary_2 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_2;

SELECT c3 AS v, count(*) AS n
  FROM source
  GROUP BY c3;

CREATE OR REPLACE TEMP TABLE dictionary_3 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_3;

SELECT c4 AS v, count(*) AS n
  FROM source
  GROUP BY c4;

CREATE OR REPLACE TEMP TABLE dictionary_4 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_4;

CREATE OR REPLACE TEMP TABLE coded AS SELECT s.row_key, s.x0, coalesce(d0.code, 23) AS c0, coalesce(d1.code, 2) AS c1, coalesce(d2.code, 9) AS c2, coalesce(d3.code, 11) AS c3, coalesce(d4.code, 3) AS c4
  FROM source s
  LEFT JOIN dictionary_0 d0 ON d0.v = s.c0
  LEFT JOIN dictionary_1 d1 ON d1.v = s.c1
  LEFT JOIN dictionary_2 d2 ON d2.v = s.c2
  LEFT JOIN dictionary_3 d3 ON d3.v = s.c3
  LEFT JOIN dictionary_4 d4 ON d4.v = s.c4;

DROP TABLE IF EXISTS source;

SELECT c0, c1, c2, c3, c4
  FROM coded;

CREATE OR REPLACE TEMP TABLE secret AS SELECT CAST(rank_key AS VARCHAR) AS rank_key, CAST(redraw_key AS VARCHAR) AS redraw_key, CAST(line_key AS VARCHAR) AS line_key
  FROM shoal_source_5;

CREATE OR REPLACE TEMP TABLE class AS SELECT c0, c1, c2, c3, c4, bucket
  FROM shoal_source_6;

CREATE OR REPLACE TEMP TABLE label_1_0 AS SELECT label, CAST(v AS VARCHAR) AS v
  FROM shoal_source_7;

CREATE OR REPLACE TEMP TABLE label_1_1 AS SELECT label, CAST(v AS VARCHAR) AS v
  FROM shoal_source_8;

CREATE OR REPLACE TEMP TABLE label_1_2 AS SELECT label, CAST(v AS VARCHAR) AS v
  FROM shoal_source_9;

CREATE OR REPLACE TEMP TABLE label_1_3 AS SELECT label, CAST(v AS VARCHAR) AS v
  FROM shoal_source_10;

CREATE OR REPLACE TEMP TABLE look AS SELECT bucket, label_0, label_1, label_2, label_3
  FROM shoal_source_11;

CREATE OR REPLACE TEMP TABLE published_1 AS SELECT row_key, bucket, p0, p1, p2, p3, p4, x0, row_number() OVER () AS line
  FROM (SELECT row_key, bucket, p0, p1, p2, p3, p4, x0
    FROM (SELECT r.row_key, r.bucket, k.label_0 AS p0, k.label_1 AS p1, k.label_2 AS p2, k.label_3 AS p3, r.c4 AS p4, r.x0
      FROM (SELECT k.bucket, t.row_key, t.c0, t.c1, t.c2, t.c3, t.c4, t.x0
        FROM coded t
        JOIN class k ON t.c0 = k.c0 AND t.c1 = k.c1 AND t.c2 = k.c2 AND t.c3 = k.c3 AND t.c4 = k.c4) r
      JOIN look k ON k.bucket = r.bucket) p
    ORDER BY p.p0, p.p1, p.p2, p.p3, p.p4, CAST(x0 AS VARCHAR) NULLS LAST, x0 NULLS LAST, row_key) r;

DROP TABLE IF EXISTS look;

DROP TABLE IF EXISTS brought;

DROP TABLE IF EXISTS secret;

DROP TABLE IF EXISTS class;

DROP TABLE IF EXISTS hashed;

DROP TABLE IF EXISTS slot;

DROP TABLE IF EXISTS segment;

DROP TABLE IF EXISTS bucket_number;

DROP TABLE IF EXISTS redrawn;

CREATE OR REPLACE TEMP TABLE fetched AS SELECT p0, p1, p2, p3, p4, count(*) AS n
  FROM published_1
  GROUP BY p0, p1, p2, p3, p4
  ORDER BY p0, p1, p2, p3, p4;

SELECT count(*) AS n
  FROM fetched;

SELECT p0, p1, p2, p3, p4, n
  FROM fetched
  WHERE rowid >= 0 AND rowid < 1048576;

DROP TABLE IF EXISTS fetched;

SELECT DISTINCT x0 AS v
  FROM published_1;

DESCRIBE SELECT row_key, bucket, line
  FROM published_1;

COPY (SELECT CASE WHEN "row_key" IS NOT NULL THEN "row_key" END AS "row_key", CASE WHEN "bucket" IS NOT NULL THEN "bucket" END AS "bucket", CASE WHEN "line" IS NOT NULL THEN "line" END AS "line"
    FROM (SELECT row_key, bucket, line
      FROM published_1) w) TO 'FOLDER/.release.internal.new/placement.parquet' (FORMAT parquet);

COPY (SELECT (SELECT list(v ORDER BY label)
      FROM label_1_0)[greatest(p.p0 + 1, 0)] AS "age", (SELECT list(v ORDER BY label)
      FROM label_1_1)[greatest(p.p1 + 1, 0)] AS "sex", (SELECT list(v ORDER BY label)
      FROM label_1_2)[greatest(p.p2 + 1, 0)] AS "born", (SELECT list(v ORDER BY label)
      FROM label_1_3)[greatest(p.p3 + 1, 0)] AS "height", p.x0 AS "wave", (SELECT list(v ORDER BY code)
      FROM dictionary_4)[greatest(p.p4 + 1, 0)] AS "disease"
    FROM published_1 p) TO 'FOLDER/.release.new/table.csv' (FORMAT csv, HEADER true);

DESCRIBE SELECT *
  FROM read_csv('FOLDER/.release.new/table.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'wave': 'VARCHAR', 'disease': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000);

SELECT count(DISTINCT "wave") AS n
  FROM (SELECT *
    FROM (SELECT *
      FROM read_csv('FOLDER/.release.new/table.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'wave': 'VARCHAR', 'disease': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f LIMIT 10000) f;

CREATE OR REPLACE TEMP TABLE file_text AS SELECT row_number() OVER () AS line, "age" AS v0, "sex" AS v1, "born" AS v2, "height" AS v3, "disease" AS v4, "wave" AS v5
  FROM (SELECT *
    FROM read_csv('FOLDER/.release.new/table.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'wave': 'VARCHAR', 'disease': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f;

SELECT v0 AS v
  FROM file_text
  GROUP BY v0;

CREATE OR REPLACE TEMP TABLE seen_0 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_12;

SELECT v1 AS v
  FROM file_text
  GROUP BY v1;

CREATE OR REPLACE TEMP TABLE seen_1 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_13;

SELECT v2 AS v
  FROM file_text
  GROUP BY v2;

CREATE OR REPLACE TEMP TABLE seen_2 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_14;

SELECT v3 AS v
  FROM file_text
  GROUP BY v3;

CREATE OR REPLACE TEMP TABLE seen_3 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_15;

SELECT v4 AS v
  FROM file_text
  GROUP BY v4;

CREATE OR REPLACE TEMP TABLE seen_4 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_16;

SELECT v5 AS v
  FROM file_text
  GROUP BY v5;

CREATE OR REPLACE TEMP TABLE seen_5 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_17;

CREATE OR REPLACE TEMP TABLE kept_0 AS SELECT *
  FROM (SELECT CAST(coalesce(d0.code, 2) AS TINYINT) AS c0, CAST(coalesce(d1.code, 2) AS TINYINT) AS c1, CAST(coalesce(d2.code, 1) AS TINYINT) AS c2, CAST(coalesce(d3.code, 1) AS TINYINT) AS c3, CAST(coalesce(d4.code, 3) AS TINYINT) AS c4, CAST(coalesce(d5.code, 2) AS TINYINT) AS c5, t.line
    FROM file_text t
    LEFT JOIN seen_0 d0 ON d0.v = t.v0
    LEFT JOIN seen_1 d1 ON d1.v = t.v1
    LEFT JOIN seen_2 d2 ON d2.v = t.v2
    LEFT JOIN seen_3 d3 ON d3.v = t.v3
    LEFT JOIN seen_4 d4 ON d4.v = t.v4
    LEFT JOIN seen_5 d5 ON d5.v = t.v5) g
  ORDER BY line;

CREATE OR REPLACE TEMP TABLE fetched AS SELECT c0, c1, c2, c3, c4, count(*) AS n, min(line) AS first
  FROM kept_0 g
  GROUP BY c0, c1, c2, c3, c4
  ORDER BY c0, c1, c2, c3, c4;

SELECT c0, c1, c2, c3, c4, n, first
  FROM fetched
  WHERE rowid >= 0 AND rowid < 1048576;

DROP TABLE IF EXISTS file_text;

CREATE OR REPLACE TEMP TABLE sample_lines AS SELECT place, CAST(c0 AS VARCHAR) AS c0, CAST(c1 AS VARCHAR) AS c1, CAST(c2 AS VARCHAR) AS c2, CAST(c3 AS VARCHAR) AS c3, CAST(c5 AS VARCHAR) AS c5, CAST(c4 AS VARCHAR) AS c4
  FROM shoal_source_18;

COPY (SELECT c0 AS "age", c1 AS "sex", c2 AS "born", c3 AS "height", c5 AS "wave", c4 AS "disease"
    FROM sample_lines
    ORDER BY place) TO 'PRIVATE/sample.csv' (FORMAT csv, HEADER true);

DROP TABLE IF EXISTS sample_lines;

SELECT count(*) AS n
  FROM kept_0;

SELECT c0, c1, c2, c3, c5, c4
  FROM kept_0
  WHERE rowid >= 0 AND rowid < 262144;

DROP TABLE IF EXISTS kept_0;
