/// The timing of presence.
struct PresenceTiming {
    /// How long changes are gathered before they are announced.
    var gathering = Duration.milliseconds(100)
    /// How long a user whose last session ended is shown as online. Clients asked to leave reconnect within 5 s.
    var grace = Duration.seconds(5)
    /// The least time between two effective changes of a user's setting.
    var decision = Duration.seconds(1)
    /// The interval of a process's heartbeats …
    var heartbeat = Duration.seconds(2)
    /// … and the time without any after which its users are gone.
    var silence = Duration.seconds(10)
    /// The interval in which all lists are published again, in case one was lost.
    var refresh = Duration.seconds(60)
    /// How often a user who is online is reported to `receipt`, in case their process dies.
    var seen = Duration.seconds(300)
}
