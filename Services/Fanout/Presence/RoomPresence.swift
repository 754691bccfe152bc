import Models
import Wire

/// Whom each process shows as online in one conversation, this one included.
struct RoomPresence {
    /// Whether the other processes were asked for their lists: once, because from then on they tell by themselves.
    var isAsked = false
    /// Sessions of users who have just joined: who is gone was never shown to them.
    var newcomers: [ObjectIdentifier] = []
    private var lists: ContiguousArray<(process: Instance, users: [UserID])> = []

    /// Every one of them once.
    var users: [UserID] {
        guard lists.count != 1 else { return lists[0].users }
        var users: [UserID] = []
        for list in lists {
            for user in list.users where !users.contains(user) { users.append(user) }
        }
        return users
    }

    func contains(_ user: UserID) -> Bool { lists.contains { $0.users.contains(user) } }

    func list(of process: Instance) -> [UserID] { lists.first { $0.process == process }?.users ?? [] }

    /// Takes a list in, in the place of the one before.
    ///
    /// - Returns: who is shown now and was not, and who was and is not.
    mutating func replace(_ process: Instance, _ users: [UserID]) -> (appeared: [UserID], gone: [UserID]) {
        let before = list(of: process)
        guard before != users else { return ([], []) }
        lists.removeAll { $0.process == process }
        let appeared = users.filter { !before.contains($0) && !contains($0) }
        let gone = before.filter { !users.contains($0) && !contains($0) }
        if !users.isEmpty { lists.append((process, users)) }
        return (appeared, gone)
    }
}
