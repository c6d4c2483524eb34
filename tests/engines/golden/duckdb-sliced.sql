CREATE OR REPLACE TEMP TABLE source AS SELECT "no" AS row_key, "age" AS c0, "sex" AS c1, "born" AS c2, "height" AS c3, "disease" AS c4
  FROM read_csv('FOLDER/people.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'no': 'VARCHAR', 'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'wave': 'VARCHAR', 'disease': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000);

SELECT count(*) AS n
  FROM source;

SELECT count(DISTINCT row_key) AS n, count(row_key) AS given
  FROM source;

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

CREATE OR REPLACE TEMP TABLE coded AS SELECT s.row_key, coalesce(d0.code, 23) AS c0, coalesce(d1.code, 2) AS c1, coalesce(d2.code, 9) AS c2, coalesce(d3.code, 11) AS c3, coalesce(d4.code, 3) AS c4
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

CREATE OR REPLACE TEMP TABLE published_1 AS SELECT row_key, bucket, p0, p1, p2, p3, p4
  FROM (SELECT r.row_key, r.bucket, r.c0 AS p0, r.c1 AS p1, r.c2 AS p2, r.c3 AS p3, r.c4 AS p4
    FROM (SELECT k.bucket, t.row_key, t.c0, t.c1, t.c2, t.c3, t.c4
      FROM coded t
      JOIN class k ON t.c0 = k.c0 AND t.c1 = k.c1 AND t.c2 = k.c2 AND t.c3 = k.c3 AND t.c4 = k.c4) r) r;

CREATE OR REPLACE TEMP TABLE linked_1 AS SELECT bucket, p0, p1, p2, p3, p4
  FROM (SELECT * EXCLUDE (place)
    FROM (SELECT a.*, b.p4
      FROM (SELECT *, row_number() OVER (PARTITION BY bucket ORDER BY k) AS place
        FROM (SELECT * EXCLUDE (place)
          FROM (SELECT a.*, b.p2, b.p3
            FROM (SELECT *, row_number() OVER (PARTITION BY bucket ORDER BY k) AS place
              FROM (SELECT r.bucket, r.p0, r.p1, CAST(concat('0x', left(sha256(concat(s.line_key, ':0:', r.row_key)), 15)) AS BIGINT) AS k
                FROM published_1 r
                CROSS JOIN secret s) q) a
            JOIN (SELECT *, row_number() OVER (PARTITION BY bucket ORDER BY k) AS place
              FROM (SELECT r.bucket, r.p2, r.p3, CAST(concat('0x', left(sha256(concat(s.line_key, ':1:', r.row_key)), 15)) AS BIGINT) AS k
                FROM published_1 r
                CROSS JOIN secret s) q) b USING (bucket, place)) l) q) a
      JOIN (SELECT *, row_number() OVER (PARTITION BY bucket ORDER BY k) AS place
        FROM (SELECT r.bucket, r.p4, CAST(concat('0x', left(sha256(concat(s.line_key, ':2:', r.row_key)), 15)) AS BIGINT) AS k
          FROM published_1 r
          CROSS JOIN secret s) q) b USING (bucket, place)) l) l;

CREATE OR REPLACE TEMP TABLE tuples_1 AS SELECT p0, p1, p2, p3, n, row_number() OVER (ORDER BY p0, p1, p2, p3) AS kind
  FROM (SELECT p0, p1, p2, p3, count(*) AS n
    FROM published_1
    GROUP BY p0, p1, p2, p3) c;

DROP TABLE IF EXISTS look;

CREATE OR REPLACE TEMP TABLE counts_1_0 AS SELECT bucket, p0, p1, count(*) AS n
  FROM published_1
  GROUP BY bucket, p0, p1;

CREATE OR REPLACE TEMP TABLE counts_1_1 AS SELECT bucket, p2, p3, count(*) AS n
  FROM published_1
  GROUP BY bucket, p2, p3;

CREATE OR REPLACE TEMP TABLE counts_1_2 AS SELECT bucket, p4, count(*) AS n
  FROM published_1
  GROUP BY bucket, p4;

DROP TABLE IF EXISTS brought;

DROP TABLE IF EXISTS secret;

DROP TABLE IF EXISTS class;

DROP TABLE IF EXISTS hashed;

DROP TABLE IF EXISTS slot;

DROP TABLE IF EXISTS segment;

DROP TABLE IF EXISTS bucket_number;

DROP TABLE IF EXISTS redrawn;

CREATE OR REPLACE TEMP TABLE fetched AS SELECT bucket, p0, p1, n
  FROM counts_1_0
  ORDER BY bucket, p0, p1;

SELECT count(*) AS n
  FROM fetched;

SELECT p0, p1, n, bucket
  FROM fetched
  WHERE rowid >= 0 AND rowid < 1048576;

DROP TABLE IF EXISTS fetched;

CREATE OR REPLACE TEMP TABLE fetched AS SELECT bucket, p2, p3, n
  FROM counts_1_1
  ORDER BY bucket, p2, p3;

SELECT p2, p3, n, bucket
  FROM fetched
  WHERE rowid >= 0 AND rowid < 1048576;

CREATE OR REPLACE TEMP TABLE fetched AS SELECT bucket, p4, n
  FROM counts_1_2
  ORDER BY bucket, p4;

SELECT p4, n, bucket
  FROM fetched
  WHERE rowid >= 0 AND rowid < 1048576;

SELECT (SELECT list(v ORDER BY code)
    FROM dictionary_0)[greatest(p.p0 + 1, 0)] AS "age", (SELECT list(v ORDER BY code)
    FROM dictionary_1)[greatest(p.p1 + 1, 0)] AS "sex", (SELECT list(v ORDER BY code)
    FROM dictionary_2)[greatest(p.p2 + 1, 0)] AS "born", (SELECT list(v ORDER BY code)
    FROM dictionary_3)[greatest(p.p3 + 1, 0)] AS "height", p.n AS count
  FROM tuples_1 p
  ORDER BY p.kind;

DESCRIBE SELECT p.row_key, p.bucket, t.kind
  FROM published_1 p
  JOIN tuples_1 t ON p.p0 = t.p0 AND p.p1 = t.p1 AND p.p2 = t.p2 AND p.p3 = t.p3
  ORDER BY p.row_key;

COPY (SELECT CASE WHEN "row_key" IS NOT NULL THEN "row_key" END AS "row_key", CASE WHEN "bucket" IS NOT NULL THEN "bucket" END AS "bucket", CASE WHEN "kind" IS NOT NULL THEN "kind" END AS "kind"
    FROM (SELECT p.row_key, p.bucket, t.kind
      FROM published_1 p
      JOIN tuples_1 t ON p.p0 = t.p0 AND p.p1 = t.p1 AND p.p2 = t.p2 AND p.p3 = t.p3
      ORDER BY p.row_key) w) TO 'FOLDER/.release.internal.new/placement.parquet' (FORMAT parquet);

DESCRIBE SELECT (SELECT list(v ORDER BY code)
    FROM dictionary_0)[greatest(p.p0 + 1, 0)] AS "age", (SELECT list(v ORDER BY code)
    FROM dictionary_1)[greatest(p.p1 + 1, 0)] AS "sex", (SELECT list(v ORDER BY code)
    FROM dictionary_2)[greatest(p.p2 + 1, 0)] AS "born", (SELECT list(v ORDER BY code)
    FROM dictionary_3)[greatest(p.p3 + 1, 0)] AS "height", p.n AS count
  FROM tuples_1 p
  ORDER BY p.kind;

COPY (SELECT CASE WHEN "age" IS NOT NULL THEN "age" END AS "age", CASE WHEN "sex" IS NOT NULL THEN "sex" END AS "sex", CASE WHEN "born" IS NOT NULL THEN "born" END AS "born", CASE WHEN "height" IS NOT NULL THEN "height" END AS "height", CASE WHEN "count" IS NOT NULL THEN "count" END AS "count"
    FROM (SELECT (SELECT list(v ORDER BY code)
        FROM dictionary_0)[greatest(p.p0 + 1, 0)] AS "age", (SELECT list(v ORDER BY code)
        FROM dictionary_1)[greatest(p.p1 + 1, 0)] AS "sex", (SELECT list(v ORDER BY code)
        FROM dictionary_2)[greatest(p.p2 + 1, 0)] AS "born", (SELECT list(v ORDER BY code)
        FROM dictionary_3)[greatest(p.p3 + 1, 0)] AS "height", p.n AS count
      FROM tuples_1 p
      ORDER BY p.kind) w) TO 'FOLDER/.release.internal.new/tuples.parquet' (FORMAT parquet);

COPY (SELECT p.bucket AS bucket, (SELECT list(v ORDER BY code)
      FROM dictionary_0)[greatest(p.p0 + 1, 0)] AS "age", (SELECT list(v ORDER BY code)
      FROM dictionary_1)[greatest(p.p1 + 1, 0)] AS "sex", p.n AS count
    FROM counts_1_0 p
    ORDER BY p.bucket, p.p0, p.p1) TO 'FOLDER/.release.new/column_1.csv' (FORMAT csv, HEADER true);

COPY (SELECT p.bucket AS bucket, (SELECT list(v ORDER BY code)
      FROM dictionary_2)[greatest(p.p2 + 1, 0)] AS "born", (SELECT list(v ORDER BY code)
      FROM dictionary_3)[greatest(p.p3 + 1, 0)] AS "height", p.n AS count
    FROM counts_1_1 p
    ORDER BY p.bucket, p.p2, p.p3) TO 'FOLDER/.release.new/column_2.csv' (FORMAT csv, HEADER true);

COPY (SELECT p.bucket AS bucket, (SELECT list(v ORDER BY code)
      FROM dictionary_4)[greatest(p.p4 + 1, 0)] AS "disease", p.n AS count
    FROM counts_1_2 p
    ORDER BY p.bucket, p.p4) TO 'FOLDER/.release.new/column_3.csv' (FORMAT csv, HEADER true);

COPY (SELECT p.bucket AS bucket, (SELECT list(v ORDER BY code)
      FROM dictionary_0)[greatest(p.p0 + 1, 0)] AS "age", (SELECT list(v ORDER BY code)
      FROM dictionary_1)[greatest(p.p1 + 1, 0)] AS "sex", (SELECT list(v ORDER BY code)
      FROM dictionary_2)[greatest(p.p2 + 1, 0)] AS "born", (SELECT list(v ORDER BY code)
      FROM dictionary_3)[greatest(p.p3 + 1, 0)] AS "height", (SELECT list(v ORDER BY code)
      FROM dictionary_4)[greatest(p.p4 + 1, 0)] AS "disease"
    FROM linked_1 p
    ORDER BY p.bucket, p.p0, p.p1, p.p2, p.p3, p.p4) TO 'FOLDER/.release.new/sliced.csv' (FORMAT csv, HEADER true);

DESCRIBE SELECT *
  FROM read_csv('FOLDER/.release.new/column_1.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'age': 'VARCHAR', 'sex': 'VARCHAR', 'count': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000);

DESCRIBE SELECT *
  FROM read_csv('FOLDER/.release.new/column_2.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'count': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000);

DESCRIBE SELECT *
  FROM read_csv('FOLDER/.release.new/column_3.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'disease': 'VARCHAR', 'count': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000);

DESCRIBE SELECT *
  FROM read_csv('FOLDER/.release.new/sliced.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'disease': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000);

SELECT *
  FROM (SELECT *
    FROM read_csv('FOLDER/.release.new/column_1.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'age': 'VARCHAR', 'sex': 'VARCHAR', 'count': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f LIMIT 0;

CREATE OR REPLACE TEMP TABLE file_text AS SELECT row_number() OVER () AS line, "age" AS v0, "sex" AS v1, CASE WHEN regexp_full_match("bucket", '[1-9][0-9]{0,17}') THEN CAST("bucket" AS BIGINT) END AS b, CASE WHEN regexp_full_match("count", '[1-9][0-9]{0,17}') THEN CAST("count" AS BIGINT) END AS w
  FROM (SELECT *
    FROM read_csv('FOLDER/.release.new/column_1.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'age': 'VARCHAR', 'sex': 'VARCHAR', 'count': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f;

SELECT count(*) - count(b) AS n
  FROM file_text;

SELECT count(*) - count(w) AS n
  FROM file_text;

SELECT v0 AS v
  FROM file_text
  GROUP BY v0;

CREATE OR REPLACE TEMP TABLE seen_0 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_7;

SELECT v1 AS v
  FROM file_text
  GROUP BY v1;

CREATE OR REPLACE TEMP TABLE seen_1 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_8;

CREATE OR REPLACE TEMP TABLE kept_0 AS SELECT *
  FROM (SELECT CAST(coalesce(d0.code, 23) AS TINYINT) AS c0, CAST(coalesce(d1.code, 2) AS TINYINT) AS c1, t.b, t.w, t.line
    FROM file_text t
    LEFT JOIN seen_0 d0 ON d0.v = t.v0
    LEFT JOIN seen_1 d1 ON d1.v = t.v1) g
  ORDER BY line;

SELECT coalesce(max(b), 0) AS n
  FROM file_text;

CREATE OR REPLACE TEMP TABLE fetched AS SELECT b, c0, c1, w AS n
  FROM kept_0 g
  ORDER BY b, c0, c1;

SELECT b, c0, c1, n
  FROM fetched
  WHERE rowid >= 0 AND rowid < 1048576;

DROP TABLE IF EXISTS file_text;

SELECT *
  FROM (SELECT *
    FROM read_csv('FOLDER/.release.new/column_2.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'count': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f LIMIT 0;

CREATE OR REPLACE TEMP TABLE file_text AS SELECT row_number() OVER () AS line, "born" AS v0, "height" AS v1, CASE WHEN regexp_full_match("bucket", '[1-9][0-9]{0,17}') THEN CAST("bucket" AS BIGINT) END AS b, CASE WHEN regexp_full_match("count", '[1-9][0-9]{0,17}') THEN CAST("count" AS BIGINT) END AS w
  FROM (SELECT *
    FROM read_csv('FOLDER/.release.new/column_2.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'count': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f;

CREATE OR REPLACE TEMP TABLE seen_0 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_9;

CREATE OR REPLACE TEMP TABLE seen_1 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_10;

CREATE OR REPLACE TEMP TABLE kept_1 AS SELECT *
  FROM (SELECT CAST(coalesce(d0.code, 9) AS TINYINT) AS c0, CAST(coalesce(d1.code, 11) AS TINYINT) AS c1, t.b, t.w, t.line
    FROM file_text t
    LEFT JOIN seen_0 d0 ON d0.v = t.v0
    LEFT JOIN seen_1 d1 ON d1.v = t.v1) g
  ORDER BY line;

CREATE OR REPLACE TEMP TABLE fetched AS SELECT b, c0, c1, w AS n
  FROM kept_1 g
  ORDER BY b, c0, c1;

SELECT *
  FROM (SELECT *
    FROM read_csv('FOLDER/.release.new/column_3.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'disease': 'VARCHAR', 'count': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f LIMIT 0;

CREATE OR REPLACE TEMP TABLE file_text AS SELECT row_number() OVER () AS line, "disease" AS v0, CASE WHEN regexp_full_match("bucket", '[1-9][0-9]{0,17}') THEN CAST("bucket" AS BIGINT) END AS b, CASE WHEN regexp_full_match("count", '[1-9][0-9]{0,17}') THEN CAST("count" AS BIGINT) END AS w
  FROM (SELECT *
    FROM read_csv('FOLDER/.release.new/column_3.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'disease': 'VARCHAR', 'count': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f;

CREATE OR REPLACE TEMP TABLE seen_0 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_11;

CREATE OR REPLACE TEMP TABLE kept_2 AS SELECT *
  FROM (SELECT CAST(coalesce(d0.code, 3) AS TINYINT) AS c0, t.b, t.w, t.line
    FROM file_text t
    LEFT JOIN seen_0 d0 ON d0.v = t.v0) g
  ORDER BY line;

CREATE OR REPLACE TEMP TABLE fetched AS SELECT b, c0, w AS n
  FROM kept_2 g
  ORDER BY b, c0;

SELECT b, c0, n
  FROM fetched
  WHERE rowid >= 0 AND rowid < 1048576;

SELECT count(*) AS n
  FROM (SELECT 1
    FROM (SELECT v0, v1, v2, count(*) AS n
      FROM (SELECT "bucket" AS v0, "age" AS v1, "sex" AS v2
        FROM (SELECT *
          FROM read_csv('FOLDER/.release.new/sliced.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'disease': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f) l
      GROUP BY v0, v1, v2
      UNION ALL SELECT "bucket" AS v0, "age" AS v1, "sex" AS v2, -CAST("count" AS BIGINT) AS n
      FROM (SELECT *
        FROM read_csv('FOLDER/.release.new/column_1.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'age': 'VARCHAR', 'sex': 'VARCHAR', 'count': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f) e
    GROUP BY v0, v1, v2
    HAVING sum(n) <> 0) d;

SELECT count(*) AS n
  FROM (SELECT 1
    FROM (SELECT v0, v1, v2, count(*) AS n
      FROM (SELECT "bucket" AS v0, "born" AS v1, "height" AS v2
        FROM (SELECT *
          FROM read_csv('FOLDER/.release.new/sliced.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'disease': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f) l
      GROUP BY v0, v1, v2
      UNION ALL SELECT "bucket" AS v0, "born" AS v1, "height" AS v2, -CAST("count" AS BIGINT) AS n
      FROM (SELECT *
        FROM read_csv('FOLDER/.release.new/column_2.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'count': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f) e
    GROUP BY v0, v1, v2
    HAVING sum(n) <> 0) d;

SELECT count(*) AS n
  FROM (SELECT 1
    FROM (SELECT v0, v1, count(*) AS n
      FROM (SELECT "bucket" AS v0, "disease" AS v1
        FROM (SELECT *
          FROM read_csv('FOLDER/.release.new/sliced.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'disease': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f) l
      GROUP BY v0, v1
      UNION ALL SELECT "bucket" AS v0, "disease" AS v1, -CAST("count" AS BIGINT) AS n
      FROM (SELECT *
        FROM read_csv('FOLDER/.release.new/column_3.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'disease': 'VARCHAR', 'count': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f) e
    GROUP BY v0, v1
    HAVING sum(n) <> 0) d;

CREATE OR REPLACE TEMP TABLE sample_lines AS SELECT place, b, CAST(c0 AS VARCHAR) AS c0, CAST(c1 AS VARCHAR) AS c1, w
  FROM shoal_source_12;

COPY (SELECT b AS "bucket", c0 AS "age", c1 AS "sex", w AS "count"
    FROM sample_lines
    ORDER BY place) TO 'PRIVATE/sample.csv' (FORMAT csv, HEADER true);

DROP TABLE IF EXISTS sample_lines;

SELECT count(*) AS n
  FROM kept_0;

SELECT b, c0, c1, w
  FROM kept_0
  WHERE rowid >= 0 AND rowid < 262144;

CREATE OR REPLACE TEMP TABLE sample_lines AS SELECT place, b, CAST(c0 AS VARCHAR) AS c0, CAST(c1 AS VARCHAR) AS c1, w
  FROM shoal_source_13;

COPY (SELECT b AS "bucket", c0 AS "born", c1 AS "height", w AS "count"
    FROM sample_lines
    ORDER BY place) TO 'PRIVATE/sample.csv' (FORMAT csv, HEADER true);

SELECT count(*) AS n
  FROM kept_1;

SELECT b, c0, c1, w
  FROM kept_1
  WHERE rowid >= 0 AND rowid < 262144;

CREATE OR REPLACE TEMP TABLE sample_lines AS SELECT place, b, CAST(c0 AS VARCHAR) AS c0, w
  FROM shoal_source_14;

COPY (SELECT b AS "bucket", c0 AS "disease", w AS "count"
    FROM sample_lines
    ORDER BY place) TO 'PRIVATE/sample.csv' (FORMAT csv, HEADER true);

SELECT count(*) AS n
  FROM kept_2;

SELECT b, c0, w
  FROM kept_2
  WHERE rowid >= 0 AND rowid < 262144;

SELECT DISTINCT f."age" AS v
  FROM (SELECT *
    FROM read_csv('FOLDER/.release.new/sliced.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'disease': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f;

CREATE OR REPLACE TEMP TABLE order_of_0 AS SELECT CAST(v AS VARCHAR) AS v, place
  FROM shoal_source_15;

SELECT DISTINCT f."born" AS v
  FROM (SELECT *
    FROM read_csv('FOLDER/.release.new/sliced.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'disease': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f;

CREATE OR REPLACE TEMP TABLE order_of_2 AS SELECT CAST(v AS VARCHAR) AS v, place
  FROM shoal_source_16;

SELECT DISTINCT f."height" AS v
  FROM (SELECT *
    FROM read_csv('FOLDER/.release.new/sliced.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'disease': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f;

CREATE OR REPLACE TEMP TABLE order_of_3 AS SELECT CAST(v AS VARCHAR) AS v, place
  FROM shoal_source_17;

COPY (SELECT f."bucket", f."age", f."sex", f."born", f."height", f."disease"
    FROM (SELECT *
      FROM read_csv('FOLDER/.release.new/sliced.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'disease': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f
    LEFT JOIN order_of_0 o0 ON o0.v = f."age"
    LEFT JOIN order_of_2 o2 ON o2.v = f."born"
    LEFT JOIN order_of_3 o3 ON o3.v = f."height"
    ORDER BY CAST(f."bucket" AS BIGINT) NULLS LAST, o0.place NULLS LAST, f."sex" NULLS LAST, o2.place NULLS LAST, o3.place NULLS LAST, f."disease" NULLS LAST) TO 'PRIVATE/sliced.csv' (FORMAT csv, HEADER true);

DROP TABLE IF EXISTS order_of_0;

DROP TABLE IF EXISTS order_of_2;

DROP TABLE IF EXISTS order_of_3;

DROP TABLE IF EXISTS kept_0;

DROP TABLE IF EXISTS kept_1;

DROP TABLE IF EXISTS kept_2;

DESCRIBE SELECT *
  FROM read_parquet(['PRIVATE/columns.parquet'], hive_partitioning = false);

SELECT *
  FROM read_parquet(['PRIVATE/columns.parquet'], hive_partitioning = false);
