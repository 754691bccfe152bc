import Models
import Postgres

/// The parameters by which a statement finds one conversation.
public struct ConversationInput: NamedFields {
    let slot: Parameter<Slot>
    let conversation: Parameter<ConversationID>
}

/// The parameters by which a statement finds conversations: arrays of the same length.
public struct ConversationsInput: NamedFields {
    let slots: Parameter<[Slot]>
    let conversations: Parameter<[ConversationID]>
}

/// The parameters by which a statement finds one user.
public struct UserInput: NamedFields {
    let userSlot: Parameter<Slot>
    let user: Parameter<UserID>
}

/// The parameters by which a statement finds users: arrays of the same length.
public struct UsersInput: NamedFields {
    let userSlots: Parameter<[Slot]>
    let users: Parameter<[UserID]>
}

extension Parameters {
    public mutating func set(_ input: ConversationInput, to conversation: ConversationID) {
        set(input.slot, to: conversation.slot)
        set(input.conversation, to: conversation)
    }

    public mutating func set(_ input: ConversationsInput, to conversations: some Collection<ConversationID>) {
        set(input.slots, to: conversations.lazy.map(\.slot))
        set(input.conversations, to: conversations)
    }

    public mutating func set(_ input: UserInput, to user: UserID) {
        set(input.userSlot, to: user.slot)
        set(input.user, to: user)
    }

    public mutating func set(_ input: UsersInput, to users: some Collection<UserID>) {
        set(input.userSlots, to: users.lazy.map(\.slot))
        set(input.users, to: users)
    }
}
