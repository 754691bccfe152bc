-- The conditions of the CASE that decides on a record at a time, behind the one that recognises a repetition.
--
-- :at
WHEN NOT state.is_open THEN {ImportVerdict.hasEnded}
WHEN :at > state.now THEN {ImportVerdict.isInFuture}
WHEN :at < state.last_at THEN {ImportVerdict.isBackwards}
