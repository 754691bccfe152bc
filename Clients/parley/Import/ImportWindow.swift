import Archives
import Models
import ParleyClient
import Reactor
import ReactorTransport

/// The lines of an import between the archive and their results: says which line is sent next, and what a result means.
///
/// A call is one request and its response; lines without a final result at its end are sent again in the next one, in
/// their order. The `end` of a conversation waits for the results of all its other lines, so that a conversation of
/// which something was refused is not opened unless that is wanted.
///
/// What it holds is bounded: whoever feeds it stops unless `hasRoom`.
struct ImportWindow {
    struct Bounds {
        /// More than the server takes at a time, so that it never waits for the next.
        var lines = 16_384
        var bytes = 4 * 1024 * 1024
    }

    private struct Conversation {
        /// Lines without a final result.
        var unsettled = 0
        var refused = 0
        /// Its opening was refused, so everything else would be.
        var isUnopened = false
        /// Waits for the results of all other lines.
        var end: ImportLine?
        var isEnding = false
    }

    private let bounds: Bounds
    private let opensDespiteRefusals: Bool
    /// Whether what comes to a conversation that was imported before is left to somebody else.
    private let leavesLaterRows: Bool

    private var waiting = FIFO<ImportLine>()
    /// What was sent in this call, with its number there.
    private var sent = FIFO<(number: Int, line: ImportLine)>()
    /// What the server had no time for in this call, in the order of the lines.
    private var postponed: [ImportLine] = []
    private var lastNumber = 0

    private var conversations: [ConversationID: Conversation] = [:]
    private var lines = 0
    private var bytes = 0

    private(set) var tally = ImportTally()
    /// The rows of which something was left: the only thing here that grows with the archive, by 8 bytes each.
    private(set) var laterRows: [Int64] = []

    init(opensDespiteRefusals: Bool = false, leavesLaterRows: Bool = false, bounds: Bounds = Bounds()) {
        self.opensDespiteRefusals = opensDespiteRefusals
        self.leavesLaterRows = leavesLaterRows
        self.bounds = bounds
    }

    var hasRoom: Bool { lines < bounds.lines && bytes < bounds.bytes }

    /// Whether every line has its final result.
    var isSettled: Bool { lines == 0 }

    /// Whether a line is to be sent in this call or the next.
    var hasWaiting: Bool { !waiting.isEmpty || !postponed.isEmpty }

    /// Whether results are outstanding in this call.
    var awaitsResults: Bool { !sent.isEmpty }

    /// Whether a line has to be repeated. What comes later must not overtake it, so nothing more goes into this call.
    var isDisturbed: Bool { !postponed.isEmpty }

    // MARK: From the archive

    mutating func add(_ line: ImportLine) {
        tally.read[line.kind, default: 0] += 1
        lines += 1
        bytes += line.bytes.count
        let id = line.conversation
        if line.kind == .end, conversations[id]?.end == nil, conversations[id]?.isEnding != true {
            conversations[id, default: Conversation()].end = line
            endIfSettled(id)
        } else {
            conversations[id, default: Conversation()].unsettled += 1
            waiting.append(line)
        }
    }

    /// The archive is read to its end, and every line settled: what is still open has no `end`.
    mutating func finish() {
        tally.unended += conversations.count
        conversations = [:]
    }

    // MARK: To the server

    /// The next line of this call.
    mutating func next() -> ImportLine? {
        while let line = waiting.popFirst() {
            guard conversations[line.conversation]?.isUnopened == true else {
                lastNumber += 1
                sent.append((lastNumber, line))
                return line
            }
            tally.unsent += 1
            settle(line)
        }
        return nil
    }

    /// Counts a line without content, which gets no result: it only shows that the client is there.
    mutating func countBlankLine() { lastNumber += 1 }

    mutating func take(_ result: ImportResult) throws(ImportResultReader.Violation) {
        guard let (number, line) = sent.popFirst(), number == result.line else {
            throw ImportResultReader.Violation(reason: "a result is for line \(result.line), which is not the next one")
        }
        if (200..<300).contains(result.status) {
            tally.stored[line.kind, default: 0] += 1
            if line.kind == .end { conversations[line.conversation] = nil }
            settle(line)
        } else if Reply.isTemporary(result.status) {
            postponed.append(line)
        } else {
            refuse(line, result)
        }
    }

    /// The response is complete or was cut off.
    mutating func callEnded() {
        var next = FIFO<ImportLine>()
        for line in postponed { next.append(line) }
        while let (_, line) = sent.popFirst() { next.append(line) }
        while let line = waiting.popFirst() { next.append(line) }
        waiting = next
        postponed = []
        lastNumber = 0
    }

    // MARK: Results

    private mutating func refuse(_ line: ImportLine, _ result: ImportResult) {
        if leavesLaterRows, result.problem?.detail == Problem.importHasEnded.detail, case .row(let row) = line.place {
            if laterRows.last != row { laterRows.append(row) }
            return settle(line)
        }
        tally.refusals.add(Refusals.Reason(result), at: line.place, line.kind)
        let id = line.conversation
        conversations[id]?.refused += 1
        if line.kind == .conversation { conversations[id]?.isUnopened = true }
        if line.kind == .end, conversations.removeValue(forKey: id) != nil { tally.leaveUnopened(id) }
        settle(line)
    }

    private mutating func settle(_ line: ImportLine) {
        lines -= 1
        bytes -= line.bytes.count
        tally.share = max(tally.share, line.share)
        tally.settled += 1
        conversations[line.conversation]?.unsettled -= 1
        endIfSettled(line.conversation)
    }

    /// Sends the `end` of a conversation, or leaves it unopened, when everything before has its result.
    private mutating func endIfSettled(_ id: ConversationID) {
        guard let state = conversations[id], state.unsettled == 0, let end = state.end else { return }
        let isOpened = !state.isUnopened && (state.refused == 0 || opensDespiteRefusals)
        guard isOpened else {
            conversations[id] = nil
            lines -= 1
            bytes -= end.bytes.count
            tally.unsent += 1
            return tally.leaveUnopened(id)
        }
        conversations[id]?.end = nil
        conversations[id]?.isEnding = true
        conversations[id]?.unsettled = 1
        waiting.append(end)
    }
}

/// What became of the lines of an import.
struct ImportTally {
    /// By kind, what the archive held and what the server has.
    fileprivate(set) var read: [ImportRecord.Kind: Int] = [:]
    fileprivate(set) var stored: [ImportRecord.Kind: Int] = [:]
    fileprivate(set) var refusals = Refusals()
    /// Lines that were not sent, because they could only have been refused or would have opened what is not complete.
    fileprivate(set) var unsent = 0
    /// Conversations that nobody sees, because something of them was refused, and the names of the first.
    fileprivate(set) var unopened = 0
    fileprivate(set) var firstUnopened: [ConversationID] = []
    /// Conversations whose end is not in the archive.
    fileprivate(set) var unended = 0
    /// Lines with a final result, and how much of the archive these are, from 0 to 1.
    fileprivate(set) var settled = 0
    fileprivate(set) var share = 0.0

    private static let namedExamples = 20

    fileprivate mutating func leaveUnopened(_ id: ConversationID) {
        unopened += 1
        if firstUnopened.count < Self.namedExamples { firstUnopened.append(id) }
    }

    var isFaultless: Bool { refusals.count == 0 && unsent == 0 && unopened == 0 && unended == 0 }
}
