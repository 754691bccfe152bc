/// How long presence takes.
struct PresenceTiming {
    /// What changed is gathered for so long, then told.
    var gathering = Duration.milliseconds(100)
    /// How long somebody whose last session ended is shown as online. Clients that are told to leave come back within 5 s.
    var grace = Duration.seconds(5)
    /// How soon users may change again whether they are shown.
    var decision = Duration.seconds(1)
    /// How often a process says that it is there …
    var heartbeat = Duration.seconds(2)
    /// … and after how long without a word those it showed are gone.
    var silence = Duration.seconds(10)
    /// How long it takes to tell everything again, in case something was lost.
    var refresh = Duration.seconds(60)
    /// How often `receipt` is told that somebody is still online, in case their process dies.
    var seen = Duration.seconds(300)
}
