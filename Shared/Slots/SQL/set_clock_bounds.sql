-- Sets the bounds that this session's `{ChangeTime.now}` keeps to, and reads the clock of the database.
--
-- :earliest text    in seconds since 1970; empty: no bound
-- :latest   text
--
-- > earliest text
-- > latest   text
-- > clock    timestamptz
SELECT set_config({ChangeTime.earliest}, :earliest, false) AS earliest,
    set_config({ChangeTime.latest}, :latest, false) AS latest, clock_timestamp() AS clock
