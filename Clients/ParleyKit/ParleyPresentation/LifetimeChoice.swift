import Models

/// How long messages stay, as it is offered: from an hour to four weeks, or until somebody deletes them.
public enum LifetimeChoice {
    public static let all: [Int?] = [nil, 3_600, 24 * 3_600, 7 * 24 * 3_600, 28 * 24 * 3_600]

    /// In words, such as "1 day".
    public static func name(_ seconds: Int?) -> String {
        guard let seconds else { return "off" }
        for (unit, name) in [(7 * 24 * 3_600, "week"), (24 * 3_600, "day"), (3_600, "hour"), (60, "minute")]
        where seconds % unit == 0 {
            let count = seconds / unit
            return "\(count) \(name)\(count == 1 ? "" : "s")"
        }
        return "\(seconds) seconds"
    }

    /// What is said of a conversation, such as "messages disappear after 1 day".
    public static func sentence(_ lifetime: MessageLifetime) -> String {
        let time = name(lifetime.seconds)
        return lifetime.isFromSending
            ? "messages disappear after \(time)" : "messages disappear \(time) after everybody has read them"
    }

    /// The next one of those that are offered.
    public static func next(after seconds: Int?) -> Int? {
        let index = all.firstIndex(of: seconds) ?? 0
        return all[(index + 1) % all.count]
    }
}
