-- The SHA-256 of lines `l` in the order of their positions, in hexadecimal digits.
encode(sha256(convert_to(coalesce(string_agg(concat(l.line, chr(10)), '' ORDER BY l.seq), ''), 'UTF8')), 'hex')
