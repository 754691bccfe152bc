import Models
import Wire

/// The layout of the messages of one run in the parameters of `SendStatement`. Messages of one conversation are
/// adjacent and in order of arrival, so their positions differ as their places do. Values that many messages share are
/// passed and looked up once: conversations, and streams (one sender in one conversation).
struct SendLayout {
    struct Stream: Hashable {
        /// An index into `conversations`.
        let conversation: Int
        let sender: UserID
    }

    /// A value that few messages have, with the place of its message, from 0.
    struct Sparse<Value> {
        let place: Int
        let value: Value
    }

    /// Indices into the items of the run, by place.
    private(set) var order: [Int] = []
    private(set) var conversations: [ConversationID] = []
    /// The place after the last message of each conversation.
    private(set) var ends: [Int] = []
    private(set) var streams: [Stream] = []
    /// The stream of each message, by place.
    private(set) var streamOfPlace: [Int] = []
    private(set) var replies: [Sparse<MessageID>] = []
    private(set) var mentions: [Sparse<UnsafeRawBufferPointer>] = []
    private(set) var extras: [Sparse<UnsafeRawBufferPointer>] = []
    /// The places of sealed messages, from 0.
    private(set) var sealed: [Int] = []

    init(_ items: ArraySlice<SendItem>) {
        let conversationOfItem = findConversations(items)
        arrange(conversationOfItem)
        var known: [Stream: Int] = [:]
        streamOfPlace.reserveCapacity(order.count)
        for (place, index) in order.enumerated() {
            let item = items[items.startIndex + index]
            let stream = Stream(conversation: conversationOfItem[index], sender: item.sender)
            streamOfPlace.append(find(stream, &known))
            if let parent = item.message.replyTo { replies.append(Sparse(place: place, value: parent)) }
            if !item.message.mentions.isEmpty {
                mentions.append(Sparse(place: place, value: item.message.mentions))
            }
            if !item.message.extra.isEmpty { extras.append(Sparse(place: place, value: item.message.extra)) }
            if item.message.isSealed { sealed.append(place) }
        }
    }

    private mutating func findConversations(_ items: ArraySlice<SendItem>) -> [Int] {
        var known: [ConversationID: Int] = [:]
        return items.map { item in
            // A command's messages are adjacent.
            if item.conversation == conversations.last { return conversations.count - 1 }
            if let index = known[item.conversation] { return index }
            known[item.conversation] = conversations.count
            conversations.append(item.conversation)
            return conversations.count - 1
        }
    }

    /// Sorts by counting, which keeps the order within each conversation.
    private mutating func arrange(_ conversationOfItem: [Int]) {
        var next = Array(repeating: 0, count: conversations.count)
        for conversation in conversationOfItem { next[conversation] += 1 }
        var end = 0
        for conversation in next.indices {
            let start = end
            end += next[conversation]
            next[conversation] = start
            ends.append(end)
        }
        order = Array(repeating: 0, count: conversationOfItem.count)
        for (index, conversation) in conversationOfItem.enumerated() {
            order[next[conversation]] = index
            next[conversation] += 1
        }
    }

    private mutating func find(_ stream: Stream, _ known: inout [Stream: Int]) -> Int {
        if stream == streams.last { return streams.count - 1 }
        if let index = known[stream] { return index }
        known[stream] = streams.count
        streams.append(stream)
        return streams.count - 1
    }
}
