-- Conditions of the CASE that decides on a pin, behind {problems_of_actor}: with the CTEs `standing`, `conversation` and `target`.
WHEN NOT standing.is_member THEN {Problem.forbidden}
WHEN t.seq IS NULL THEN {Problem.notFound}
WHEN (SELECT NOT {is_permitted(
    permissions => c.permissions, bits => {GroupPermissions.write}, role => standing.role)} FROM conversation c)
    THEN {Problem.forbidden}
