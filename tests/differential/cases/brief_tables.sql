-- What a transaction wrote to a temporary table that it dropped came into the files for ever.
BEGIN;
CREATE TEMPORARY TABLE m SELECT seq, CONCAT(SHA2(seq, 512), SHA2(seq + 1, 512), SHA2(seq + 2,
  512), SHA2(seq + 3, 512)) AS s FROM seq_1_to_2000;
DROP TEMPORARY TABLE m;
DO SLEEP(1.5);
COMMIT;
