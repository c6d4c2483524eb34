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

CREATE OR REPLACE TEMP TABLE fetched AS SELECT count(*) AS n
  FROM coded;

SELECT count(*) AS n
  FROM fetched;

SELECT n
  FROM fetched
  WHERE rowid >= 0 AND rowid < 1048576;

DROP TABLE IF EXISTS fetched;

SELECT row_key, c0, c1, c2, c3, c4
  FROM coded
  ORDER BY row_key;

CREATE OR REPLACE TEMP TABLE parquet_columns AS SELECT CAST(c0 AS VARCHAR) AS c0, CAST(c1 AS VARCHAR) AS c1, c2, CAST(c3 AS VARCHAR) AS c3
  FROM shoal_source_5;

DESCRIBE SELECT c0 AS "row_key", c1 AS "column", c2 AS "private", c3 AS "value"
  FROM parquet_columns;

COPY (SELECT CASE WHEN "row_key" IS NOT NULL THEN "row_key" END AS "row_key", CASE WHEN "column" IS NOT NULL THEN "column" END AS "column", CASE WHEN "private" IS NOT NULL THEN "private" END AS "private", CASE WHEN "value" IS NOT NULL THEN "value" END AS "value"
    FROM (SELECT c0 AS "row_key", c1 AS "column", c2 AS "private", c3 AS "value"
      FROM parquet_columns) w) TO 'PRIVATE/columns.parquet' (FORMAT parquet);

DROP TABLE IF EXISTS parquet_columns;

CREATE OR REPLACE TEMP TABLE parquet_columns AS SELECT CAST(c0 AS VARCHAR) AS c0, CAST(c1 AS VARCHAR) AS c1, CAST(c2 AS VARCHAR) AS c2, CAST(c3 AS VARCHAR) AS c3, CAST(c4 AS VARCHAR) AS c4, CAST(c5 AS VARCHAR) AS c5, CAST(c6 AS VARCHAR) AS c6, c7, c8, c9, c10, CAST(c11 AS VARCHAR) AS c11
  FROM shoal_source_6;

DESCRIBE SELECT c0 AS "if age", c1 AS "if sex", c2 AS "if born", c3 AS "if height", c4 AS "if disease", c5 AS "column", c6 AS "value", c7 AS "support", c8 AS "hits", c9 AS "private", c10 AS "found_in_pass", c11 AS "fate"
  FROM parquet_columns;

COPY (SELECT CASE WHEN "if age" IS NOT NULL THEN "if age" END AS "if age", CASE WHEN "if sex" IS NOT NULL THEN "if sex" END AS "if sex", CASE WHEN "if born" IS NOT NULL THEN "if born" END AS "if born", CASE WHEN "if height" IS NOT NULL THEN "if height" END AS "if height", CASE WHEN "if disease" IS NOT NULL THEN "if disease" END AS "if disease", CASE WHEN "column" IS NOT NULL THEN "column" END AS "column", CASE WHEN "value" IS NOT NULL THEN "value" END AS "value", CASE WHEN "support" IS NOT NULL THEN "support" END AS "support", CASE WHEN "hits" IS NOT NULL THEN "hits" END AS "hits", CASE WHEN "private" IS NOT NULL THEN "private" END AS "private", CASE WHEN "found_in_pass" IS NOT NULL THEN "found_in_pass" END AS "found_in_pass", CASE WHEN "fate" IS NOT NULL THEN "fate" END AS "fate"
    FROM (SELECT c0 AS "if age", c1 AS "if sex", c2 AS "if born", c3 AS "if height", c4 AS "if disease", c5 AS "column", c6 AS "value", c7 AS "support", c8 AS "hits", c9 AS "private", c10 AS "found_in_pass", c11 AS "fate"
      FROM parquet_columns) w) TO 'PRIVATE/columns.parquet' (FORMAT parquet);

CREATE OR REPLACE TEMP TABLE secret AS SELECT CAST(rank_key AS VARCHAR) AS rank_key, CAST(redraw_key AS VARCHAR) AS redraw_key, CAST(line_key AS VARCHAR) AS line_key
  FROM shoal_source_7;

CREATE OR REPLACE TEMP TABLE class AS SELECT bucket
  FROM shoal_source_8;

CREATE OR REPLACE TEMP TABLE label_1_4 AS SELECT label, CAST(v AS VARCHAR) AS v
  FROM shoal_source_9;

CREATE OR REPLACE TEMP TABLE recode_4 AS SELECT code, label
  FROM shoal_source_10;

CREATE OR REPLACE TEMP TABLE blank_4 AS SELECT CAST(row_key AS VARCHAR) AS row_key
  FROM shoal_source_11;

CREATE OR REPLACE TEMP TABLE text_order_1_0 AS SELECT code, rank
  FROM shoal_source_12;

CREATE OR REPLACE TEMP TABLE text_order_1_1 AS SELECT code, rank
  FROM shoal_source_13;

CREATE OR REPLACE TEMP TABLE text_order_1_2 AS SELECT code, rank
  FROM shoal_source_14;

CREATE OR REPLACE TEMP TABLE text_order_1_3 AS SELECT code, rank
  FROM shoal_source_15;

CREATE OR REPLACE TEMP TABLE text_order_1_4 AS SELECT code, rank
  FROM shoal_source_16;

CREATE OR REPLACE TEMP TABLE published_1 AS SELECT row_key, bucket, p0, p1, p2, p3, p4, row_number() OVER () AS line
  FROM (SELECT row_key, bucket, p0, p1, p2, p3, p4
    FROM (SELECT r.row_key, r.bucket, r.c0 AS p0, r.c1 AS p1, r.c2 AS p2, r.c3 AS p3, CASE WHEN b4.row_key IS NULL THEN l4.label ELSE -1 END AS p4
      FROM (SELECT k.bucket, t.row_key, t.c0, t.c1, t.c2, t.c3, t.c4
        FROM coded t
        JOIN class k ON TRUE) r
      JOIN recode_4 l4 ON l4.code = r.c4
      LEFT JOIN blank_4 b4 ON b4.row_key = r.row_key) p
    JOIN text_order_1_0 o0 ON o0.code = p.p0
    JOIN text_order_1_1 o1 ON o1.code = p.p1
    JOIN text_order_1_2 o2 ON o2.code = p.p2
    JOIN text_order_1_3 o3 ON o3.code = p.p3
    JOIN text_order_1_4 o4 ON o4.code = p.p4
    ORDER BY o0.rank, o1.rank, o2.rank, o3.rank, o4.rank, row_key) r;

DROP TABLE IF EXISTS look;

DROP TABLE IF EXISTS brought;

DROP TABLE IF EXISTS secret;

DROP TABLE IF EXISTS class;

DROP TABLE IF EXISTS hashed;

DROP TABLE IF EXISTS slot;

DROP TABLE IF EXISTS segment;

DROP TABLE IF EXISTS bucket_number;

DROP TABLE IF EXISTS redrawn;

CREATE OR REPLACE TEMP TABLE fetched AS SELECT p0, p1, p2, p3, p4
  FROM published_1
  ORDER BY line;

SELECT p0, p1, p2, p3, p4
  FROM fetched
  WHERE rowid >= 0 AND rowid < 1048576;

DESCRIBE SELECT *
  FROM read_parquet(['PRIVATE/columns.parquet'], hive_partitioning = false);

SELECT *
  FROM read_parquet(['PRIVATE/columns.parquet'], hive_partitioning = false);

SELECT row_key
  FROM published_1
  ORDER BY line;

DESCRIBE SELECT row_key, bucket, line
  FROM published_1;

COPY (SELECT CASE WHEN "row_key" IS NOT NULL THEN "row_key" END AS "row_key", CASE WHEN "bucket" IS NOT NULL THEN "bucket" END AS "bucket", CASE WHEN "line" IS NOT NULL THEN "line" END AS "line"
    FROM (SELECT row_key, bucket, line
      FROM published_1) w) TO 'FOLDER/.release.internal.new/placement.parquet' (FORMAT parquet);

COPY (SELECT (SELECT list(v ORDER BY code)
      FROM dictionary_0)[greatest(p.p0 + 1, 0)] AS "age", (SELECT list(v ORDER BY code)
      FROM dictionary_1)[greatest(p.p1 + 1, 0)] AS "sex", (SELECT list(v ORDER BY code)
      FROM dictionary_2)[greatest(p.p2 + 1, 0)] AS "born", (SELECT list(v ORDER BY code)
      FROM dictionary_3)[greatest(p.p3 + 1, 0)] AS "height", CASE WHEN p.p4 < 0 THEN '*' ELSE (SELECT list(v ORDER BY label)
      FROM label_1_4)[greatest(p.p4 + 1, 0)] END AS "disease"
    FROM published_1 p) TO 'FOLDER/.release.new/table.csv' (FORMAT csv, HEADER true);

CREATE OR REPLACE TEMP TABLE looked_up AS SELECT CAST(v AS VARCHAR) AS v
  FROM shoal_source_17;

SELECT DISTINCT h.v AS v, h.w AS w
  FROM (SELECT trim("no") AS v, lower(trim("no")) AS w
    FROM read_csv('FOLDER/people.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'no': 'VARCHAR', 'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'wave': 'VARCHAR', 'disease': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) h
  WHERE h.v IN (SELECT a.v
    FROM looked_up a) OR h.w IN (SELECT a.v
    FROM looked_up a);

DROP TABLE IF EXISTS looked_up;

CREATE OR REPLACE TEMP TABLE looked_up AS SELECT CAST(v AS VARCHAR) AS v
  FROM shoal_source_18;

SELECT DISTINCT h.v AS v, h.w AS w
  FROM (SELECT trim("wave") AS v, lower(trim("wave")) AS w
    FROM read_csv('FOLDER/people.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'no': 'VARCHAR', 'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'wave': 'VARCHAR', 'disease': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) h
  WHERE h.v IN (SELECT a.v
    FROM looked_up a) OR h.w IN (SELECT a.v
    FROM looked_up a);

DESCRIBE SELECT *
  FROM read_csv('FOLDER/.release.new/table.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'disease': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000);

CREATE OR REPLACE TEMP TABLE file_text AS SELECT row_number() OVER () AS line, "age" AS v0, "sex" AS v1, "born" AS v2, "height" AS v3, "disease" AS v4
  FROM (SELECT *
    FROM read_csv('FOLDER/.release.new/table.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'disease': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f;

SELECT v0 AS v
  FROM file_text
  GROUP BY v0;

CREATE OR REPLACE TEMP TABLE seen_0 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_19;

CREATE OR REPLACE TEMP TABLE fetched AS SELECT coalesce(d.code, 23) AS c
  FROM file_text t
  LEFT JOIN seen_0 d ON d.v = t.v0
  ORDER BY t.line;

SELECT c
  FROM fetched
  WHERE rowid >= 0 AND rowid < 1048576;

SELECT v1 AS v
  FROM file_text
  GROUP BY v1;

CREATE OR REPLACE TEMP TABLE seen_1 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_20;

CREATE OR REPLACE TEMP TABLE fetched AS SELECT coalesce(d.code, 2) AS c
  FROM file_text t
  LEFT JOIN seen_1 d ON d.v = t.v1
  ORDER BY t.line;

SELECT v2 AS v
  FROM file_text
  GROUP BY v2;

CREATE OR REPLACE TEMP TABLE seen_2 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_21;

CREATE OR REPLACE TEMP TABLE fetched AS SELECT coalesce(d.code, 9) AS c
  FROM file_text t
  LEFT JOIN seen_2 d ON d.v = t.v2
  ORDER BY t.line;

SELECT v3 AS v
  FROM file_text
  GROUP BY v3;

CREATE OR REPLACE TEMP TABLE seen_3 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_22;

CREATE OR REPLACE TEMP TABLE fetched AS SELECT coalesce(d.code, 11) AS c
  FROM file_text t
  LEFT JOIN seen_3 d ON d.v = t.v3
  ORDER BY t.line;

SELECT v4 AS v
  FROM file_text
  GROUP BY v4;

CREATE OR REPLACE TEMP TABLE seen_4 AS SELECT code, CAST(v AS VARCHAR) AS v
  FROM shoal_source_23;

CREATE OR REPLACE TEMP TABLE fetched AS SELECT coalesce(d.code, 4) AS c
  FROM file_text t
  LEFT JOIN seen_4 d ON d.v = t.v4
  ORDER BY t.line;

DROP TABLE IF EXISTS file_text;

CREATE OR REPLACE TEMP TABLE again AS SELECT *
  FROM (SELECT *
    FROM read_csv('FOLDER/.release.new/table.csv', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {'age': 'VARCHAR', 'sex': 'VARCHAR', 'born': 'VARCHAR', 'height': 'VARCHAR', 'disease': 'VARCHAR'}, max_line_size = 16000000, buffer_size = 32000000)) f;

SELECT count(*) AS n
  FROM (SELECT k, lag(k) OVER () AS before
    FROM (SELECT create_sort_key(f."age", 'ASC NULLS LAST', f."sex", 'ASC NULLS LAST', f."born", 'ASC NULLS LAST', f."height", 'ASC NULLS LAST', f."disease", 'ASC NULLS LAST') AS k
      FROM again f) s) p
  WHERE k < before;

COPY (SELECT f."age", f."sex", f."born", f."height", f."disease"
    FROM again f) TO 'PRIVATE/table.csv' (FORMAT csv, HEADER true);

DROP TABLE IF EXISTS again;

DESCRIBE SELECT *
  FROM read_parquet(['FOLDER/.release.internal.new/placement.parquet'], hive_partitioning = false);

SELECT row_key, line
  FROM read_parquet(['FOLDER/.release.internal.new/placement.parquet'], hive_partitioning = false)
  ORDER BY line;

SELECT c0, c1, c2, c3, c4
  FROM coded;
