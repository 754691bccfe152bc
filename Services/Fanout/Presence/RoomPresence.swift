import Models
import Wire

/// The users whom each process, including this one, shows as online in one conversation.
struct RoomPresence {
    /// Whether the other processes were asked for their lists. Once is enough: they announce every later change.
    var isAsked = false
    /// Sessions of users who have just joined. Users who are gone were never shown to them.
    var newcomers: Set<ObjectIdentifier> = []
    private var lists: ContiguousArray<(process: Instance, users: [UserID])> = []
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
    mutating func replace(_ process: Instance, _ users: [UserID]) -> (appeared: [UserID], gone: [UserID]) {
        let before = list(of: process)
        lists.removeAll { $0.process == process }
        let appeared = listed(users).filter { !before.contains($0) && !contains($0) }
        let gone = before.filter { !users.contains($0) && !contains($0) }
        if !users.isEmpty { lists.append((process, users)) }
        return (appeared, gone)
    }
}
