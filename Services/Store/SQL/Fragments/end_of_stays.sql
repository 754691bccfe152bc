-- The last position that a reader may see, with the CTE of {stays_of_reader}.
(SELECT max(last_seq) FROM stays)
