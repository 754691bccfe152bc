import Models
import Wire

/// Whom each process shows as online in one conversation, this one included.
struct RoomPresence {
    /// Whether the other processes were asked for their lists: once, because from then on they tell by themselves.
    var isAsked = false
    /// Sessions of users who have just joined: who is gone was never shown to them.
    var newcomers: Set<ObjectIdentifier> = []
    private var lists: ContiguousArray<(process: Instance, users: [UserID])> = []
    /// The latest of those whose removal has passed here. Who lists them has not heard of it yet, or lets them go as
    /// somebody who may come back at once: to members who join now they are nobody.
    private var removed: ContiguousArray<UserID> = []
    /// More than are listed.
    private static let removedLimit = 64

    /// Every one of them once.
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

    /// Of these users those who were not removed.
    func listed(_ users: [UserID]) -> [UserID] {
        removed.isEmpty ? users : users.filter { !removed.contains($0) }
    }

    /// Takes in that a user is no member any more. Returns whether they were shown.
    mutating func remove(_ user: UserID) -> Bool {
        let wasShown = contains(user)
        removed.removeAll { $0 == user }
        if removed.count == Self.removedLimit { removed.removeFirst() }
        removed.append(user)
        return wasShown
    }

    /// Takes in that a user is a member. Returns whether they are shown now and were not.
    mutating func add(_ user: UserID) -> Bool {
        guard removed.contains(user) else { return false }
        removed.removeAll { $0 == user }
        return contains(user)
    }

    /// Takes a list in, in the place of the one before.
    ///
    /// - Returns: who is shown now and was not, and who was and is not.
    mutating func replace(_ process: Instance, _ users: [UserID]) -> (appeared: [UserID], gone: [UserID]) {
        let before = list(of: process)
        lists.removeAll { $0.process == process }
        let appeared = listed(users).filter { !before.contains($0) && !contains($0) }
        let gone = before.filter { !users.contains($0) && !contains($0) }
        if !users.isEmpty { lists.append((process, users)) }
        return (appeared, gone)
    }
}
