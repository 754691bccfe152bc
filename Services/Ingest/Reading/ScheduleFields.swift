import JSON
import Models
import Wire

/// The body `{at, text, replyTo?, mentions?, mentionsAll?, extra?}` of a message that is to be sent at a time. `at` may not be missing,
/// so that no mistake sends at once what was to be sent later; null: now.
struct ScheduleFields {
    private var at: Timestamp?
    private var isTimeGiven = false
    private var text: JSONString?
    private var replyTo: MessageID?
    private var mentions: [UserID] = []
    private var mentionsAll = false
    private var extra: UnsafeRawBufferPointer?
    private var hasAttachments = false
    private var hasPoll = false

    init(_ body: UnsafeRawBufferPointer) throws(Problem) {
        try reading { () throws(JSONError) in
            var reader = JSONReader(body)
            var given = JSONKeys.Given()
            try reader.beginObject()
            while let key = try reader.nextKey(of: Self.keys, &given) { try read(key, &reader) }
            try reader.end()
        }
    }

    private static let keys: JSONKeys = [
        "at", "text", "replyTo", "mentions", "mentionsAll", "extra", "attachments", "poll",
    ]

    private mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "at":
            isTimeGiven = true
            at = try reader.consumeNull() ? nil : try reader.timeForDisplay()
            // On the bus it means now.
            if at?.milliseconds == 0 { at = Timestamp(milliseconds: 1) }
        case "text": text = try reader.consumeNull() ? nil : try reader.slice()
        case "replyTo": replyTo = try reader.consumeNull() ? nil : MessageID(try reader.wellFormedUUID())
        case "mentions": mentions = try reader.consumeNull() ? [] : try reader.users()
        case "mentionsAll": mentionsAll = try reader.consumeNull() ? false : try reader.bool()
        case "extra": extra = try reader.consumeNull() ? nil : try reader.encodedObject()
        case "attachments":
            if try !reader.consumeNull() {
                hasAttachments = true
                try reader.skip()
            }
        case "poll":
            if try !reader.consumeNull() {
                hasPoll = true
                try reader.skip()
            }
        default: try reader.skip()
        }
    }

    /// Whether the time is near enough is for the store to say, which has the clock.
    func checked(_ id: MessageID, _ limits: ClientLimits) throws(Problem) -> Write.Action {
        guard !hasAttachments else {
            throw Problem(.invalid, "attachments: a scheduled message carries none; send them when it is time")
        }
        guard !hasPoll else { throw Problem(.invalid, "poll: a poll is not scheduled; send it when it is time") }
        guard isTimeGiven else { throw .missing("at") }
        guard let text else { throw .missing("text") }
        try MessageFields.check(text, limits)
        try MessageFields.check(mentions)
        return .schedule(
            NewScheduled(
                id, at: at ?? Timestamp(milliseconds: 0), replyTo: replyTo,
                mentions: String(decoding: MessageFields.joined(mentions, everybody: mentionsAll), as: UTF8.self),
                extra: String(decoding: try MessageFields.checked(extra: extra), as: UTF8.self), text: text.string))
    }
}
