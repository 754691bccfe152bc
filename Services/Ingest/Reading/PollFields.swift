import JSON
import Models
import Wire

/// The poll of a message that is sent: `{options, multiple?}`.
struct PollFields {
    private var options: [JSONString]?
    private var isMultiple = false

    private static let keys: JSONKeys = ["options", "multiple"]

    init(_ reader: inout JSONReader) throws(JSONError) {
        var given = JSONKeys.Given()
        try reader.beginObject()
        while let key = try reader.nextKey(of: Self.keys, &given) {
            switch key {
            case "options": options = try reader.texts(atMost: ContractLimits.pollOptions + 1)
            case "multiple": isMultiple = try reader.consumeNull() ? false : try reader.bool()
            default: try reader.skip()
            }
        }
    }

    /// - Parameters: what may not stand beside it.
    func checked(isSealed: Bool, hasAttachments: Bool, isReply: Bool) throws(Problem) -> NewPoll {
        let poll = try checked()
        guard !isSealed else { throw Problem(.invalid, "sealed: a poll is not sealed") }
        guard !hasAttachments else { throw Problem(.invalid, "attachments: a poll carries none") }
        guard !isReply else { throw Problem(.invalid, "replyTo: a poll replies to nothing") }
        return poll
    }

    private func checked() throws(Problem) -> NewPoll {
        guard let options else { throw .missing("poll.options") }
        guard options.count <= ContractLimits.pollOptions else {
            throw Problem(.tooLarge, "poll.options: at most \(ContractLimits.pollOptions) options")
        }
        guard options.count >= 2 else { throw Problem(.invalid, "poll.options: must be two at least") }
        let texts = try options.enumerated().map { (place, text) throws(Problem) in
            try Self.checked(text, "poll.options[\(place)]")
        }
        guard Set(texts).count == texts.count else {
            throw Problem(.invalid, "poll.options: must be different from each other")
        }
        return NewPoll(options: texts, isMultiple: isMultiple)
    }

    /// An option stands in a line of its own, as a name does.
    private static func checked(_ option: JSONString, _ field: String) throws(Problem) -> String {
        guard !option.withBytes(isBlank) else { throw Problem(.invalid, "\(field): must not be blank") }
        let text = option.string
        guard text.unicodeScalars.count <= ContractLimits.pollOptionCharacters else {
            throw Problem(.tooLarge, "\(field): at most \(ContractLimits.pollOptionCharacters) characters")
        }
        guard text.unicodeScalars.allSatisfy(\.mayStandInOneLine) else {
            throw Problem(.invalid, "\(field): must have no control characters and none that set the direction of text")
        }
        return text
    }
}

/// The body of a vote: `{options}`, positions of options, from 0; empty: it is withdrawn. Which a poll has, the store knows.
enum VoteFields {
    static func options(_ body: UnsafeRawBufferPointer) throws(Problem) -> PollOptions {
        let positions = try reading { () throws(JSONError) in
            var positions: [Int]?
            var reader = JSONReader(body)
            let keys: JSONKeys = ["options"]
            var given = JSONKeys.Given()
            try reader.beginObject()
            while let key = try reader.nextKey(of: keys, &given) {
                if key == "options" { positions = try reader.positions() } else { try reader.skip() }
            }
            try reader.end()
            return positions
        }
        return try options(at: positions)
    }

    static func options(at positions: [Int]?) throws(Problem) -> PollOptions {
        guard let positions else { throw .missing("options") }
        guard let options = PollOptions(positions: positions) else {
            throw Problem(.invalid, "options: must be positions of the poll's options, from 0")
        }
        return options
    }
}

extension JSONReader {
    /// An array of strings, of which no more are kept.
    fileprivate mutating func texts(atMost count: Int) throws(JSONError) -> [JSONString] {
        var texts: [JSONString] = []
        try beginArray()
        while try nextElement() {
            let text = try slice()
            if texts.count < count { texts.append(text) }
        }
        return texts
    }

    /// An array of numbers, of which those are kept that tell whether each is an option, and which.
    mutating func positions() throws(JSONError) -> [Int] {
        var positions: Set<Int> = []
        try beginArray()
        while try nextElement() {
            let position = try integer()
            positions.insert(0..<Int64(ContractLimits.pollOptions) ~= position ? Int(position) : -1)
        }
        return Array(positions)
    }
}
