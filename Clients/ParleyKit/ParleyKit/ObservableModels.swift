import Models
import Observation
import ParleyStorage
import ParleySync

// For SwiftUI: the latest state as a property. A view starts `run` in its `task` modifier, which ends it with the view.

/// The list of conversations.
@MainActor @Observable
public final class ConversationListModel {
    public private(set) var rows: [ConversationRow] = []
    public private(set) var hasMore = false
    private let list: ConversationList

    public init(_ list: ConversationList) { self.list = list }

    public func run() async {
        for await update in list {
            rows = update.rows
            hasMore = update.hasMore
        }
    }

    /// The last row is on the screen.
    public func extend() { list.extend() }
}

/// A conversation that is open: its messages, their receipts, and who is typing.
@MainActor @Observable
public final class TalkModel {
    public private(set) var timeline: TimelineUpdate?
    public private(set) var receipts: ReceiptsUpdate?
    public private(set) var typing: [UserID] = []
    public private(set) var info: ConversationRow?
    private let talk: Talk
    private let window: Timeline

    public init(_ talk: Talk, _ start: TimelineStart = .newest()) {
        self.talk = talk
        window = talk.timeline(start)
    }

    public func run() async {
        await withTaskGroup { group in
            group.addTask { for await update in self.window { await self.show(update) } }
            group.addTask { for await update in self.talk.receipts { await self.show(update) } }
            group.addTask { for await users in self.talk.typing { await self.show(users) } }
            group.addTask { for await info in self.talk.info { await self.show(info) } }
        }
    }

    public func extendBackward() { window.extendBackward() }
    public func extendForward() { window.extendForward() }
    public func jump(to message: MessageID) { window.jump(to: message) }
    public func jumpToNewest() { window.jumpToNewest() }

    private func show(_ update: TimelineUpdate) { timeline = update }
    private func show(_ update: ReceiptsUpdate) { receipts = update }
    private func show(_ users: [UserID]) { typing = users }
    private func show(_ row: ConversationRow?) { info = row }
}

/// What the whole application shows: the connection, what is unread, and what people are called.
@MainActor @Observable
public final class ParleyModel {
    public private(set) var connection = ConnectionState.off
    public private(set) var unread = UnreadTotal(messages: 0, conversations: 0)
    public private(set) var names = UserNames()
    private let parley: Parley

    public init(_ parley: Parley) { self.parley = parley }

    public func run() async {
        await withTaskGroup { group in
            group.addTask { for await state in self.parley.connection { await self.show(state) } }
            group.addTask { for await total in self.parley.unread { await self.show(total) } }
            group.addTask { for await names in self.parley.names { await self.show(names) } }
        }
    }

    private func show(_ state: ConnectionState) { connection = state }
    private func show(_ total: UnreadTotal) { unread = total }
    private func show(_ names: UserNames) { self.names = names }
}
