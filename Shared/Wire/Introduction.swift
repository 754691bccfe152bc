import Bytes

/// What `ingest` says of those whom a command is to bring into a conversation, at the end of the command. A command without it says
/// nothing of them.
///
/// Layout: people a day 2 (0: any number) · of each `Consent` 1, or nothing if all are as the option says.
public struct Introduction: Hashable, Sendable {
    /// Of each of the people; empty: of all as the deployment's option says.
    public var consents: [Consent]
    /// How many people the user may bring in within a day, because their account is new. Nil: any number.
    public var peoplePerDay: Int?

    public init(_ consents: [Consent] = [], peoplePerDay: Int? = nil) {
        self.consents = consents
        self.peoplePerDay = peoplePerDay
    }

    /// - Parameter count: of the people.
    init(from reader: inout ByteReader, count: Int) throws(WireError) {
        self.init()
        guard !reader.isAtEnd else { return }
        let number: UInt16 = try reader.number()
        peoplePerDay = number == 0 ? nil : Int(number)
        guard !reader.isAtEnd else { return }
        for _ in 0..<count {
            let number: UInt8 = try reader.number()
            guard let consent = Consent(rawValue: number) else { throw .unknownValue(field: "consent", UInt64(number)) }
            consents.append(consent)
        }
    }

    func write(to buffer: inout ByteBuffer) {
        guard peoplePerDay != nil || !consents.isEmpty else { return }
        buffer.append(bigEndian: UInt16(clamping: peoplePerDay ?? 0))
        for consent in consents { buffer.append(consent.rawValue) }
    }
}

/// Whether somebody may be brought into a conversation, of each who is to be: what the application said, if it was asked.
///
/// Only of those who are not members yet; on members it has no effect.
public enum Consent: UInt8, CaseIterable, Hashable, Sendable {
    /// The application was not asked: as the deployment's option says.
    case byOption = 0
    /// They come in.
    case given = 1
    /// They come in if they know who brings them, and are asked otherwise.
    case asked = 2
    /// As if they had been asked, and had declined.
    case declined = 3
    /// Nobody comes in, and whoever wanted to bring them is told so.
    case refused = 4
    /// The application gave no answer: nobody comes in for now.
    case unanswered = 5
}
