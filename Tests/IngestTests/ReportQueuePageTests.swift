import Bytes
import Foundation
import Models
import TestSupport
import Testing
import Wire

@testable import Ingest

/// The page of reports that ingest puts together of what the slots have.
@Suite struct ReportQueuePageTests {
    /// What one slot has, in order.
    private typealias Reports = [(place: ReportCursor, size: Int)]

    private struct Page: Equatable {
        var reports: [String]
        var cursor: ReportCursor?
    }

    private func place(_ time: Int64, _ conversation: UInt64 = 0) -> ReportCursor {
        ReportCursor(
            createdAt: Timestamp(milliseconds: time),
            conversation: ConversationID(UUIDBytes(high: 7, low: conversation)),
            report: ReportID(UUIDBytes(high: UInt64(time), low: conversation)))
    }

    /// Responds as a store: up to `limit` reports behind a place.
    private func response(of slot: Reports, after: ReportCursor, limit: Int) -> [UInt8] {
        let rest = slot.filter { $0.place > after }
        var buffer = ByteBuffer()
        ReportsOfSlot.writeHead(hasMore: rest.count > limit, to: &buffer)
        for report in rest.prefix(limit) {
            ReportsOfSlot.append(at: report.place, to: &buffer) { $0.append(utf8: json(report)) }
        }
        return buffer.array
    }

    private func json(_ report: (place: ReportCursor, size: Int)) -> String {
        "\"" + report.place.text + String(repeating: ".", count: report.size) + "\""
    }

    private func page(of slots: [Reports], after: ReportCursor = .start, limit: Int) throws -> Page {
        var page = ReportQueuePage(after: after, limit: limit)
        for slot in slots {
            try response(of: slot, after: after, limit: limit).withUnsafeBytes { try page.add($0) }
        }
        var buffer = ByteBuffer()
        page.write(to: &buffer)
        let value = try JSONSerialization.jsonObject(with: Data(buffer.array)) as? [String: Any]
        let cursor = value?["nextCursor"] as? String
        return Page(
            reports: try #require(value?["reports"] as? [String]).map { String($0.prefix { $0 != "." }) },
            cursor: try cursor.map { try #require(ReportCursor(text: $0)) })
    }

    @Test("pages have every report once and in order, in whatever order slots respond", arguments: UInt64(0)..<100)
    func whole(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var slots = (0..<8).map { number -> Reports in
            let count = Int.random(in: 0...9, using: &random)
            let places = (0..<count).map { _ in place(.random(in: 1...20, using: &random), UInt64(number)) }
            return Set(places).sorted().map { ($0, 0) }
        }
        let all = slots.flatMap { $0.map { $0.place } }.sorted().map(\.text)
        let limit = Int.random(in: 1...10, using: &random)
        var read: [String] = []
        var cursor: ReportCursor? = .start
        while let after = cursor {
            slots.shuffle(using: &random)
            let page = try page(of: slots, after: after, limit: limit)
            #expect(page.reports.count <= limit && (page.cursor == nil || !page.reports.isEmpty))
            read += page.reports
            cursor = page.cursor
        }
        #expect(read == all)
    }

    @Test("a page ends at its size, and no report is passed over")
    func size() throws {
        let size = ContractLimits.pageBytes / 3
        let slots: [Reports] = [
            [(place(2), size), (place(4), size)], [(place(1), size), (place(3), size), (place(5), 0)],
        ]
        for slots in [slots, slots.reversed()] {
            let first = try page(of: slots, limit: 50)
            #expect(first == Page(reports: [1, 2, 3].map { place($0).text }, cursor: place(3)))
            let second = try page(of: slots, after: place(3), limit: 50)
            #expect(second == Page(reports: [4, 5].map { place($0).text }, cursor: nil))
        }
    }

    @Test("a response that ends in its middle is refused")
    func truncated() {
        let whole = response(of: [(place(1), 0)], after: .start, limit: 1)
        for length in 0..<whole.count where length != 1 {
            #expect(throws: WireError.truncated) {
                var page = ReportQueuePage(after: .start, limit: 1)
                try Array(whole.prefix(length)).withUnsafeBytes { try page.add($0) }
            }
        }
    }
}
