import Models

/// Who is shown, and when the server has to be asked for their profiles.
struct ProfileQueue: Sendable {
    private struct Person: Sendable {
        /// Higher for those who were shown later.
        var shown = 0
        var askedAt: Duration?
    }

    private var people: [UserID: Person] = [:]
    /// When to ask for them.
    private var due: [UserID: Duration] = [:]
    private var lastShown = 0

    /// One request asks for so many,
    private static let atOnce = ContractLimits.profilesPerRequest
    /// and for no more than a line of HTTP holds, whatever they are called.
    private static let bytesAtOnce = 4_000
    /// Those who were shown longest ago are forgotten, and asked for when they are shown again.
    private static let mostKnown = 1_000
    /// Those who are shown together are asked for together.
    private static let gathering = Duration.milliseconds(100)
    /// Who is shown again after this time is asked for again: not every change is told.
    private static let freshFor = Duration.seconds(300)
    /// Nobody is asked for more often, however often theirs changes.
    private static let leastPause = Duration.seconds(5)

    mutating func show(_ users: [UserID], at now: Duration) {
        for user in users {
            lastShown += 1
            let askedAt = people[user]?.askedAt
            people[user] = Person(shown: lastShown, askedAt: askedAt)
            if askedAt.map({ $0 + Self.freshFor <= now }) ?? true { ask(for: user, at: now + Self.gathering) }
        }
        guard people.count > Self.mostKnown else { return }
        for (user, _) in people.sorted(by: { $0.value.shown < $1.value.shown }).prefix(people.count - Self.mostKnown) {
            people[user] = nil
            due[user] = nil
        }
    }

    private mutating func ask(for user: UserID, at time: Duration) { due[user] = min(due[user] ?? time, time) }

    /// They have another one now. It matters where they are shown.
    mutating func changed(_ user: UserID?, at now: Duration) {
        guard let user, let person = people[user] else { return }
        ask(for: user, at: person.askedAt.map { max(now, $0 + Self.leastPause) } ?? now)
    }

    /// Changes may have been missed, or others can be read now.
    mutating func allChanged(at now: Duration) {
        for user in people.keys { changed(user, at: now) }
    }

    /// Those to ask for now.
    mutating func next(at now: Duration) -> [UserID] {
        guard wakeAt.map({ $0 <= now }) ?? false else { return [] }
        let ready = due.filter { $0.value <= now }.keys.sorted { people[$0]!.shown < people[$1]!.shown }
        var users: [UserID] = []
        var bytes = 0
        for user in ready {
            bytes += user.bytesInQuery
            guard users.count < Self.atOnce, bytes <= Self.bytesAtOnce else { break }
            users.append(user)
            people[user]!.askedAt = now
            due[user] = nil
        }
        return users
    }

    var wakeAt: Duration? { due.values.min() }
}

extension UserID {
    /// With the comma before it.
    fileprivate var bytesInQuery: Int {
        name.utf8.reduce(3) { $0 + (Set("@:+".utf8).contains($1) ? 3 : 1) }
    }
}
