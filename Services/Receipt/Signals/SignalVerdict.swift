import Postgres

/// What `advance_horizons` decides about a signal, as one number: whether the user is a member, and if so what moved.
struct SignalVerdict: OptionSet {
    let rawValue: Int16

    /// The user never was in it, or there is no such conversation.
    static let unknownConversation = SignalVerdict([])
    static let hasLeft = SignalVerdict(rawValue: 1)
    static let isMember = SignalVerdict(rawValue: 2)

    // Added to `isMember`.
    static let deliveredMoved = SignalVerdict(rawValue: 4)
    static let shownMoved = SignalVerdict(rawValue: 8)
    static let readMoved = SignalVerdict(rawValue: 16)

    /// What others see.
    static let seenMoved: SignalVerdict = [.deliveredMoved, .shownMoved]
    static let anyMoved: SignalVerdict = [.deliveredMoved, .shownMoved, .readMoved]

    /// The names in SQL.
    static let names = SQLNames(
        name("unknownConversation", unknownConversation), name("hasLeft", hasLeft), name("isMember", isMember),
        name("deliveredMoved", deliveredMoved), name("shownMoved", shownMoved), name("readMoved", readMoved),
        name("seenMoved", seenMoved), name("anyMoved", anyMoved))

    private static func name(_ name: String, _ verdict: SignalVerdict) -> SQLNames {
        .number("SignalVerdict.\(name)", verdict.rawValue)
    }
}
