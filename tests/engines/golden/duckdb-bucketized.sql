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

CREATE OR REPLACE TEMP TABLE secret AS SELECT CAST(rank_key AS VARCHAR) AS rank_key, CAST(redraw_key AS VARCHAR) AS redraw_key, CAST(line_key AS VARCHAR) AS line_key
  FROM shoal_source_5;

CREATE OR REPLACE TEMP TABLE bucket_number AS SELECT place, bucket
  FROM shoal_source_6;

CREATE OR REPLACE TEMP TABLE class AS SELECT c4, class, first, block
  FROM shoal_source_7;

CREATE OR REPLACE TEMP TABLE published_1 AS SELECT row_key, bucket, p0, p1, p2, p3, p4, x0, row_number() OVER () AS line
  FROM (SELECT row_key, bucket, p0, p1, p2, p3, p4, x0
    FROM (SELECT r.row_key, r.bucket, r.c0 AS p0, r.c1 AS p1, r.c2 AS p2, r.c3 AS p3, r.c4 AS p4, r.x0
      FROM (SELECT b.bucket, t.row_key, t.c0, t.c1, t.c2, t.c3, t.c4, t.x0
        FROM (SELECT t.row_key, t.c0, t.c1, t.c2, t.c3, t.c4, t.x0, k.class, k.block, k.first - 1 + row_number() OVER (PARTITION BY k.class ORDER BY CAST(concat('0x', left(sha256(concat(s.rank_key, ':', t.row_key)), 15)) AS BIGINT), t.row_key) AS place
          FROM coded t
          JOIN class k ON t.c4 = k.c4
          CROSS JOIN secret s) t
        JOIN bucket_number b ON b.place = t.place) r) p
    ORDER BY bucket, p.p0, p.p1, p.p2, p.p3, CAST(x0 AS VARCHAR) NULLS LAST, x0 NULLS LAST, row_key) r;

DROP TABLE IF EXISTS look;

CREATE OR REPLACE TEMP TABLE counts_1_1 AS SELECT bucket, p4, count(*) AS n
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

SELECT count(*) AS n
  FROM published_1;

SELECT p0, p1, p2, p3, bucket
  FROM published_1
  WHERE rowid >= 0 AND rowid < 1048576;

CREATE OR REPLACE TEMP TABLE fetched AS SELECT bucket, p4, n
  FROM counts_1_1
  ORDER BY bucket, p4;

SELECT count(*) AS n
  FROM fetched;

SELECT p4, n, bucket
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

COPY (SELECT p.bucket AS bucket, (SELECT list(v ORDER BY code)
      FROM dictionary_0)[greatest(p.p0 + 1, 0)] AS "age", (SELECT list(v ORDER BY code)
      FROM dictionary_1)[greatest(p.p1 + 1, 0)] AS "sex", (SELECT list(v ORDER BY code)
      FROM dictionary_2)[greatest(p.p2 + 1, 0)] AS "born", (SELECT list(v ORDER BY code)
      FROM dictionary_3)[greatest(p.p3 + 1, 0)] AS "height", p.x0 AS "wave"
    FROM published_1 p) TO 'FOLDER/.release.new/quasi.csv' (FORMAT csv, HEADER true);

COPY (SELECT p.bucket AS bucket, (SELECT list(v ORDER BY code)
      FROM dictionary_4)[greatest(p.p4 + 1, 0)] AS "disease", p.n AS count
    FROM counts_1_1 p
    ORDER BY p.bucket, p.p4) TO 'FOLDER/.release.new/sensitive.csv' (FORMAT csv, HEADER true);

DESCRIBE SELECT *
  FROM read_csv('FOLDER/.release.new/quasi.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'wave': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000);

DESCRIBE SELECT *
  FROM read_csv('FOLDER/.release.new/sensitive.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'disease': 'VARCHAR', 'count': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000);

SELECT count(DISTINCT "wave") AS n
  FROM (SELECT *
    FROM (SELECT *
      FROM read_csv('FOLDER/.release.new/quasi.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'wave': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f LIMIT 10000) f;

SELECT *
  FROM (SELECT *
    FROM read_csv('FOLDER/.release.new/quasi.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'wave': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f LIMIT 0;

CREATE OR REPLACE TEMP TABLE file_text AS SELECT row_number() OVER () AS line, "age" AS v0, "sex" AS v1, "born" AS v2, "height" AS v3, "wave" AS v4, CASE WHEN regexp_full_match("bucket", '[1-9][0-9]{0,17}') THEN CAST("bucket" AS BIGINT) END AS b
  FROM (SELECT *
    FROM read_csv('FOLDER/.release.new/quasi.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'wave': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f;

SELECT count(*) - count(b) AS n
  FROM file_text;

SELECT v0 AS v
  FROM file_text
  GROUP BY v0;

CREATE OR REPLACE TEMP TABLE seen_0 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_8;

SELECT v1 AS v
  FROM file_text
  GROUP BY v1;

CREATE OR REPLACE TEMP TABLE seen_1 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_9;

SELECT v2 AS v
  FROM file_text
  GROUP BY v2;

CREATE OR REPLACE TEMP TABLE seen_2 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_10;

SELECT v3 AS v
  FROM file_text
  GROUP BY v3;

CREATE OR REPLACE TEMP TABLE seen_3 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_11;

SELECT v4 AS v
  FROM file_text
  GROUP BY v4;

CREATE OR REPLACE TEMP TABLE seen_4 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_12;

CREATE OR REPLACE TEMP TABLE kept_0 AS SELECT *
  FROM (SELECT CAST(coalesce(d0.code, 23) AS TINYINT) AS c0, CAST(coalesce(d1.code, 2) AS TINYINT) AS c1, CAST(coalesce(d2.code, 9) AS TINYINT) AS c2, CAST(coalesce(d3.code, 11) AS TINYINT) AS c3, CAST(coalesce(d4.code, 2) AS TINYINT) AS c4, t.b, t.line
    FROM file_text t
    LEFT JOIN seen_0 d0 ON d0.v = t.v0
    LEFT JOIN seen_1 d1 ON d1.v = t.v1
    LEFT JOIN seen_2 d2 ON d2.v = t.v2
    LEFT JOIN seen_3 d3 ON d3.v = t.v3
    LEFT JOIN seen_4 d4 ON d4.v = t.v4) g
  ORDER BY line;

SELECT coalesce(max(b), 0) AS n
  FROM file_text;

SELECT count(*) AS n
  FROM kept_0;

SELECT b, c0, c1, c2, c3
  FROM kept_0
  WHERE rowid >= 0 AND rowid < 1048576;

DROP TABLE IF EXISTS file_text;

SELECT *
  FROM (SELECT *
    FROM read_csv('FOLDER/.release.new/sensitive.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'disease': 'VARCHAR', 'count': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f LIMIT 0;

CREATE OR REPLACE TEMP TABLE file_text AS SELECT row_number() OVER () AS line, "disease" AS v0, CASE WHEN regexp_full_match("bucket", '[1-9][0-9]{0,17}') THEN CAST("bucket" AS BIGINT) END AS b, CASE WHEN regexp_full_match("count", '[1-9][0-9]{0,17}') THEN CAST("count" AS BIGINT) END AS w
  FROM (SELECT *
    FROM read_csv('FOLDER/.release.new/sensitive.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'bucket': 'VARCHAR', 'disease': 'VARCHAR', 'count': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f;

SELECT count(*) - count(w) AS n
  FROM file_text;

CREATE OR REPLACE TEMP TABLE seen_0 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_13;

CREATE OR REPLACE TEMP TABLE kept_1 AS SELECT *
  FROM (SELECT CAST(coalesce(d0.code, 3) AS TINYINT) AS c0, t.b, t.w, t.line
    FROM file_text t
    LEFT JOIN seen_0 d0 ON d0.v = t.v0) g
  ORDER BY line;

CREATE OR REPLACE TEMP TABLE fetched AS SELECT b, c0, w AS n
  FROM kept_1 g
  ORDER BY b, c0;

SELECT b, c0, n
  FROM fetched
  WHERE rowid >= 0 AND rowid < 1048576;

CREATE OR REPLACE TEMP TABLE sample_lines AS SELECT place, b, CAST(c0 AS VARCHAR) AS c0, CAST(c1 AS VARCHAR) AS c1, CAST(c2 AS VARCHAR) AS c2, CAST(c3 AS VARCHAR) AS c3, CAST(c4 AS VARCHAR) AS c4
  FROM shoal_source_14;

COPY (SELECT b AS "bucket", c0 AS "age", c1 AS "sex", c2 AS "born", c3 AS "height", c4 AS "wave"
    FROM sample_lines
    ORDER BY place) TO 'PRIVATE/sample.csv' (FORMAT csv, HEADER true);

DROP TABLE IF EXISTS sample_lines;

SELECT b, c0, c1, c2, c3, c4
  FROM kept_0
  WHERE rowid >= 0 AND rowid < 262144;

CREATE OR REPLACE TEMP TABLE sample_lines AS SELECT place, b, CAST(c0 AS VARCHAR) AS c0, w
  FROM shoal_source_15;

COPY (SELECT b AS "bucket", c0 AS "disease", w AS "count"
    FROM sample_lines
    ORDER BY place) TO 'PRIVATE/sample.csv' (FORMAT csv, HEADER true);

SELECT count(*) AS n
  FROM kept_1;

SELECT b, c0, w
  FROM kept_1
  WHERE rowid >= 0 AND rowid < 262144;

DROP TABLE IF EXISTS kept_0;

DROP TABLE IF EXISTS kept_1;

SELECT c0, c1, c2, c3, c4
  FROM coded;
