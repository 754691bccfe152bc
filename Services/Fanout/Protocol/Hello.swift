import Bytes
import JSON
import Models
import Wire

/// The first frame of a session: its token and the client's positions.
struct Hello {
    var token = ""
    /// The position of the last change that the client has, by conversation.
    var cursors: [ConversationID: Int64] = [:]
    var useq: Int64?
    /// The client's versions of receipts, by conversation. Nil: it does not follow receipts.
    var statusVersions: [ConversationID: Int64]?
    var logID: String?

    init() {}

    /// Reads a complete frame at once.
    init(_ json: UnsafeRawBufferPointer) throws(JSONError) {
        var reader = HelloReader(json)
        while try reader.readNext() {}
        self = reader.hello
    }

    /// Returns the version up to which the client has the receipts of a conversation: 0 when it has the conversation
    /// and names no version. Nil: the client gets no missed receipts.
    func statusVersion(in conversation: ConversationID) -> Int64? {
        guard let statusVersions else { return nil }
        return statusVersions[conversation] ?? (cursors[conversation] == nil ? nil : 0)
    }
}

/// Reads a `hello` in small steps: one member, one position, or one piece of an unknown value. Reading a large one
/// takes longer than a turn may.
struct HelloReader {
    private(set) var hello = Hello()
    /// Whether the frame's type is `hello`.
    private(set) var isHello = false
    /// The bytes read so far.
    var offset: Int { reader.offset }
    private var reader: JSONReader
    private let readsPositions: Bool
    private var given = JSONKeys.Given()
    private var hasBegun = false
    private var hasToken = false
    private enum List { case cursors, statusVersions }

    /// The list that is being read, and its positions so far.
    private var list: List?
    /// The unknown member that is being skipped.
    private var skipping: JSONSkipping?
    private var positions: [ConversationID: Int64] = [:]

    private static let keys: JSONKeys = ["type", "token", "cursors", "useq", "statusVersions", "logId"]

    /// Creates a reader that borrows `json`.
    ///
    /// - Parameter readsPositions: whether to read the client's positions. Before authentication they are skipped.
    init(_ json: UnsafeRawBufferPointer, readsPositions: Bool = true) {
        reader = JSONReader(json)
        self.readsPositions = readsPositions
    }

    /// Reads one step. Returns whether there is more.
    mutating func readNext() throws(JSONError) -> Bool {
        if !hasBegun {
            hasBegun = true
            try reader.beginObject()
        }
        if skipping != nil {
            if try !skipping!.next(&reader) { skipping = nil }
            return true
        }
        if list == nil { return try readMember() }
        if try !readPosition() { endList() }
        return true
    }

    private mutating func readMember() throws(JSONError) -> Bool {
        guard let key = try reader.nextKey(of: Self.keys, &given) else {
            try reader.end()
            guard hasToken else { throw reader.failure(.expected("a token"), at: 0) }
            return false
        }
        switch key {
        case "type": isHello = try reader.slice() == "hello"
        case "token":
            hello.token = try reader.string()
            hasToken = true
        case "cursors" where readsPositions: try beginList(.cursors)
        case "useq": hello.useq = try reader.consumeNull() ? nil : try reader.position()
        case "statusVersions" where readsPositions: try beginList(.statusVersions)
        case "logId": hello.logID = try reader.consumeNull() ? nil : try reader.string()
        default: skipping = JSONSkipping()
        }
        return true
    }

    private mutating func beginList(_ list: List) throws(JSONError) {
        if try reader.consumeNull() { return }
        try reader.beginObject()
        self.list = list
    }

    private mutating func endList() {
        switch list {
        case .cursors: hello.cursors = positions
        case .statusVersions: hello.statusVersions = positions
        case nil: break
        }
        (list, positions) = (nil, [:])
    }

    /// Reads one position. Returns false at the end of the list.
    private mutating func readPosition() throws(JSONError) -> Bool {
        guard let key = try reader.nextKey() else { return false }
        guard let uuid = key.withBytes({ UUIDBytes(text: $0) }) else {
            throw reader.failure(.invalidValue("a conversation id"))
        }
        guard positions.updateValue(try reader.position(), forKey: ConversationID(uuid)) == nil else {
            throw reader.failure(.invalidValue("a conversation id given once"))
        }
        return true
    }
}
