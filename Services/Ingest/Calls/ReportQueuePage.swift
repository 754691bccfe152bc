import Bytes
import JSON
import Models
import Wire

/// The first reports behind a place, as far as the slots have told of theirs. A state machine without I/O.
struct ReportQueuePage {
    let after: ReportCursor
    let limit: Int
    /// In their order. Never more than the page may have.
    private var reports: [(place: ReportCursor, json: [UInt8])] = []
    /// Nothing behind this place is known of all slots, or has room in the page. Nil: everything is known, and has.
    private var end: ReportCursor?

    init(after: ReportCursor, limit: Int) {
        self.after = after
        self.limit = limit
    }

    /// Adds what a slot has (`ReportsOfSlot`).
    mutating func add(_ response: UnsafeRawBufferPointer) throws(WireError) {
        var reader = ByteReader(response)
        let hasMore = try ReportsOfSlot.readHead(from: &reader)
        var last = after
        while let (place, json) = try ReportsOfSlot.next(from: &reader) {
            last = place
            if let end, place > end { continue }
            reports.append((place, Array(json)))
        }
        if hasMore { end = min(end ?? last, last) }
        reports.sort { $0.place < $1.place }
        cut()
    }

    /// Removes what the page has no room for, and what is behind its end.
    private mutating func cut() {
        var bytes = 0
        var count = 0
        for report in reports {
            guard count < limit, bytes < ContractLimits.pageBytes else {
                end = min(end ?? report.place, reports[count - 1].place)
                break
            }
            if let end, report.place > end { break }
            bytes += report.json.count
            count += 1
        }
        reports.removeSubrange(count...)
    }

    /// `{"reports":[…],"nextCursor":"…"}`
    func write(to buffer: inout ByteBuffer) {
        buffer.beginObject()
        buffer.append(key: "reports")
        buffer.beginArray()
        for report in reports {
            buffer.beginElement()
            report.json.withUnsafeBytes { buffer.append($0) }
        }
        buffer.endArray()
        if end != nil { buffer.append(key: "nextCursor", json: (reports.last?.place ?? after).text) }
        buffer.endObject()
    }
}
