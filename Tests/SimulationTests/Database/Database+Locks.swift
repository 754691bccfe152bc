import Models
import Postgres
import SimulationSupport

// What batches begin with: `LockStatement`, `HorizonStatements`. Transactions run one at a time, so nothing has to be
// locked, but rows may have to be made.
extension Database {
    /// $1 slots · $2 conversations
    func lockConversations(_ arguments: Arguments) -> [SimulatedRow] {
        (arguments.array(1) as [ConversationID]).filter { tables.conversations[$0] != nil }.map { _ in [] }
    }

    /// $1 slot · $2 conversation
    func lockConversation(_ arguments: Arguments) -> [SimulatedRow] {
        tables.conversations[arguments.value(1)] == nil ? [] : [[]]
    }

    /// $1 slots · $2 users
    func beginStreams(_ arguments: Arguments) -> [SimulatedRow] {
        for user in arguments.array(1) as [UserID] where tables.users[user] == nil {
            tables.users[user] = Tables.User()
        }
        return []
    }

    /// As above.
    func lockStreams(_ arguments: Arguments) -> [SimulatedRow] {
        (arguments.array(1) as [UserID]).filter { tables.users[$0] != nil }.map { _ in [] }
    }

    /// $1 slots · $2 conversations
    func insertPositions(_ arguments: Arguments) -> [SimulatedRow] {
        for id in arguments.array(1) as [ConversationID] { tables.conversations[id]?.hasPosition = true }
        return []
    }

    /// As above.
    func lockPositions(_ arguments: Arguments) -> [SimulatedRow] {
        let conversations: [ConversationID] = arguments.array(1)
        return [[SimulatedValue(Int64(conversations.count { tables.conversations[$0]?.hasPosition ?? false }))]]
    }

    // MARK: Lists of refused users, of whom the simulation has none

    /// $1 slots
    func erasuresOfSlots(_ arguments: Arguments) -> [SimulatedRow] {
        (arguments.array(0) as [Slot]).map { [SimulatedValue($0), SimulatedValue(0 as Int64), null(UserID.self)] }
    }

    /// $1 slots
    func revocationsOfSlots(_ arguments: Arguments) -> [SimulatedRow] {
        (arguments.array(0) as [Slot]).map { [SimulatedValue($0), SimulatedValue(0 as Int64)] }
    }
}
