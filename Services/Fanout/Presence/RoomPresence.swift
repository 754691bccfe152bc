import Models
import Wire

/// The users whom each process, including this one, shows as online in one conversation.
struct RoomPresence {
    /// Whether the other processes were asked for their lists. Once is enough: they announce every later change.
    var isAsked = false
    /// Sessions of users who have just joined. Users who are gone were never shown to them.
    var newcomers: Set<ObjectIdentifier> = []
    private var lists: ContiguousArray<(process: Instance, users: [UserID], blocked: [BlockMarks])> = []
    /// Whom users had blocked who were shown last, until they are shown again: they are to be announced as gone to nobody
    /// whom they were not shown to.
    private var formerMarks: [UserID: Set<UInt64>] = [:]
    /// The users removed last. A process that still lists one has not seen the removal yet, or shows a departing user a
    /// little longer; members who join now must not see them.
    private var removed: ContiguousArray<UserID> = []
    /// More than the members of a room with presence.
    private static let removedLimit = 64

    /// Every shown user once.
    var users: [UserID] {
        guard lists.count != 1 else { return listed(lists[0].users) }
        var users: [UserID] = []
        for list in lists {
            for user in list.users where !users.contains(user) && !removed.contains(user) { users.append(user) }
        }
        return users
    }

    func contains(_ user: UserID) -> Bool {
        !removed.contains(user) && lists.contains { $0.users.contains(user) }
    }

    func list(of process: Instance) -> [UserID] { listed(lists.first { $0.process == process }?.users ?? []) }

    /// Returns the users without those who were removed.
    func listed(_ users: [UserID]) -> [UserID] {
        removed.isEmpty ? users : users.filter { !removed.contains($0) }
    }

    /// Returns the hashes of those whom a user has blocked, as far as it matters here.
    func blocked(by user: UserID) -> Set<UInt64> {
        var hashes: Set<UInt64> = []
        for list in lists where !list.blocked.isEmpty {
            for marks in list.blocked where marks.user == user { hashes.formUnion(marks.hashes) }
        }
        return hashes
    }

    var hasMarks: Bool { lists.contains { !$0.blocked.isEmpty } }

    /// Of those who are shown; nil of others.
    func marks(of users: [UserID]) -> [Set<UInt64>?] { users.map { contains($0) ? blocked(by: $0) : nil } }

    /// Whether a user has blocked, or had when they were shown last, the one with this hash. No list and no memory of
    /// marks, as nearly everywhere, costs no lookup.
    func hides(_ user: UserID, from hash: @autoclosure () -> UInt64) -> Bool {
        if let former = formerMarks[user], former.contains(hash()) { return true }
        guard hasMarks else { return false }
        return blocked(by: user).contains(hash())
    }

    private mutating func rememberMarks(of users: [UserID], _ marks: [BlockMarks]) {
        for user in users { formerMarks[user] = nil }
        for mark in marks where !contains(mark.user) {
            if formerMarks.count == Self.removedLimit { formerMarks.removeAll() }
            formerMarks[mark.user] = Set(mark.hashes)
        }
    }

    /// Records that a user is no longer a member. Returns whether they were shown.
    mutating func remove(_ user: UserID) -> Bool {
        let wasShown = contains(user)
        removed.removeAll { $0 == user }
        if removed.count == Self.removedLimit { removed.removeFirst() }
        removed.append(user)
        return wasShown
    }

    /// Records that a user is a member. Returns whether they become visible by that.
    mutating func add(_ user: UserID) -> Bool {
        guard removed.contains(user) else { return false }
        removed.removeAll { $0 == user }
        return contains(user)
    }

    /// Replaces the list of a process.
    ///
    /// - Returns: the users who become visible, and those who no longer are.
    mutating func replace(
        _ process: Instance, _ users: [UserID], blocked: [BlockMarks] = []
    ) -> (appeared: [UserID], gone: [UserID]) {
        let before = list(of: process)
        let marks = lists.first { $0.process == process }?.blocked ?? []
        lists.removeAll { $0.process == process }
        defer { rememberMarks(of: users, marks) }
        let appeared = listed(users).filter { !before.contains($0) && !contains($0) }
        let gone = before.filter { !users.contains($0) && !contains($0) }
        if !users.isEmpty { lists.append((process, users, blocked)) }
        return (appeared, gone)
    }
}
