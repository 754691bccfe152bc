import Models

/// A line of `POST /v1/import`. The lines of a conversation are in the order of time, between its `conversation` and its
/// `end`.
package enum ImportRecord: Hashable, Sendable {
    case conversation(Conversation)
    case message(Message)
    case tapback(Tapback)
    case vote(Vote)
    case pollClosed(PollClosing)
    case member(MemberChange)
    case renamed(Renaming)
    case receipt(Receipt)
    case end(End)

    /// Opens the import of a conversation, with its first members.
    package struct Conversation: Hashable, Sendable, Codable {
        package var id: ConversationID
        package var kind: Open<ConversationKind>
        package var members: [UserID]
        package var title: String?
        package var createdAt: Timestamp
    }

    package struct Message: Hashable, Sendable, Codable {
        package var conversationId: ConversationID
        package var id: MessageID
        package var senderId: UserID
        package var text: String?
        /// Of a sealed message, in place of a text.
        package var sealed: String?
        package var replyTo: MessageID?
        package var attachments: [Attachment]?
        /// The application's own.
        package var extra: [String: JSONValue]?
        /// Who wrote a forwarded message that shows it.
        package var forwarded: Forwarded?
        /// Of a poll, of which the text is the question.
        package var poll: RequestBody.NewPoll?
        package var createdAt: Timestamp
        /// Of an edited message: all its texts, the present one last.
        package var revisions: [Revision]?
        package var deletedAt: Timestamp?
    }

    package typealias Revision = Models.Revision

    package struct Tapback: Hashable, Sendable, Codable {
        package var conversationId: ConversationID
        package var messageId: MessageID
        package var userId: UserID
        package var kind: TapbackKind
        package var at: Timestamp
    }

    package struct Vote: Hashable, Sendable, Codable {
        package var conversationId: ConversationID
        package var messageId: MessageID
        package var userId: UserID
        /// Positions of options, from 0.
        package var options: [Int]
        package var at: Timestamp
    }

    /// From then on nobody votes any more.
    package struct PollClosing: Hashable, Sendable, Codable {
        package var conversationId: ConversationID
        package var messageId: MessageID
        package var at: Timestamp
        package var actorId: UserID?
    }

    package struct MemberChange: Hashable, Sendable, Codable {
        package enum Change: String, Hashable, Sendable, Codable, CaseIterable { case added, removed, role }

        package var conversationId: ConversationID
        package var userId: UserID
        package var change: Change
        package var at: Timestamp
        package var actorId: UserID?
    }

    package struct Renaming: Hashable, Sendable, Codable {
        package var conversationId: ConversationID
        package var title: String
        package var at: Timestamp
        package var actorId: UserID?
    }

    /// What a user has received or read, through a message and all before it.
    package struct Receipt: Hashable, Sendable, Codable {
        package enum Kind: String, CaseIterable, Hashable, Sendable, Codable { case delivered, read }

        package var conversationId: ConversationID
        package var userId: UserID
        package var kind: Kind
        package var throughMessageId: MessageID
        package var at: Timestamp
    }

    /// Opens a conversation to its members.
    package struct End: Hashable, Sendable, Codable {
        package var conversationId: ConversationID
    }
}

extension ImportRecord: Codable {
    package enum Kind: String, Codable, CaseIterable, Sendable {
        case conversation, message, tapback, vote, pollClosed, member, renamed, receipt, end
    }

    private enum Key: CodingKey { case type }

    package var kind: Kind {
        switch self {
        case .conversation: .conversation
        case .message: .message
        case .tapback: .tapback
        case .vote: .vote
        case .pollClosed: .pollClosed
        case .member: .member
        case .renamed: .renamed
        case .receipt: .receipt
        case .end: .end
        }
    }

    package init(from decoder: any Decoder) throws {
        switch try decoder.container(keyedBy: Key.self).decode(Kind.self, forKey: .type) {
        case .conversation: self = .conversation(try Conversation(from: decoder))
        case .message: self = .message(try Message(from: decoder))
        case .tapback: self = .tapback(try Tapback(from: decoder))
        case .vote: self = .vote(try Vote(from: decoder))
        case .pollClosed: self = .pollClosed(try PollClosing(from: decoder))
        case .member: self = .member(try MemberChange(from: decoder))
        case .renamed: self = .renamed(try Renaming(from: decoder))
        case .receipt: self = .receipt(try Receipt(from: decoder))
        case .end: self = .end(try End(from: decoder))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(kind, forKey: .type)
        switch self {
        case .conversation(let record): try record.encode(to: encoder)
        case .message(let record): try record.encode(to: encoder)
        case .tapback(let record): try record.encode(to: encoder)
        case .vote(let record): try record.encode(to: encoder)
        case .pollClosed(let record): try record.encode(to: encoder)
        case .member(let record): try record.encode(to: encoder)
        case .renamed(let record): try record.encode(to: encoder)
        case .receipt(let record): try record.encode(to: encoder)
        case .end(let record): try record.encode(to: encoder)
        }
    }
}
