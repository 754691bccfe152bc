/// What an administrator did: an entry of the audit log.
public struct Act: Hashable, Sendable, Codable {
    /// Its place in the log, from 1.
    public var number: Int64
    public var at: Timestamp
    /// The user that the administrator's token names.
    public var administratorId: UserID
    /// For whom: `X-Parley-User`.
    public var userId: UserID?
    /// The call, by its `operationId`.
    public var call: String
    public var conversationId: ConversationID?
    /// Whom or what the call names: a user, message, invitation, report or device.
    public var target: String?
    /// Which of the things that the call can do: a mode, a role, an action.
    public var detail: String?
    /// That of the response. Nil: it was not noted, as when a process ended before. The act may have been carried out.
    public var status: Int?
}

/// A page of the audit log, the earliest act first.
public struct ActPage: Hashable, Sendable, Codable {
    public var acts: [Act]
    /// Whether there are later ones.
    public var more: Bool
}
