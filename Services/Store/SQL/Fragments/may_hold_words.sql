-- Whether the texts of a block may hold what a search looks for, by the block's filter: a twentieth of the time that the
-- texts take. NULL, of a filter that is not known or a probe that is not given, may be anything.
--
-- :filter
-- :probes
(get_bit(:filter, (:probes)[1]) = 1 AND get_bit(:filter, (:probes)[2]) = 1 AND get_bit(:filter, (:probes)[3]) = 1
 AND get_bit(:filter, (:probes)[4]) = 1 AND get_bit(:filter, (:probes)[5]) = 1 AND get_bit(:filter, (:probes)[6]) = 1
 AND get_bit(:filter, (:probes)[7]) = 1 AND get_bit(:filter, (:probes)[8]) = 1) IS NOT FALSE
