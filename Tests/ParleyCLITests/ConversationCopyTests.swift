import Foundation
import JSON
import Testing

@testable import ParleyClient

/// The example of openapi.json that client authors test with.
@Suite struct ConversationCopyTests {
    private let changes: [[UInt8]]
    private let page: DigestPage.Entry

    init() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let data = try Data(contentsOf: root.appending(path: "Services/Ingest/openapi.json"))
        let document = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let example = try #require(document["x-parley-digest-example"] as? [String: Any])
        changes = try #require(example["changes"] as? [Any]).map {
            Array(try JSONSerialization.data(withJSONObject: $0))
        }
        let response = try JSONSerialization.data(withJSONObject: try #require(example["answer"]))
        page = try #require(try DigestPage(document: Array(response)).entries.first)
    }

    private func copy(_ changes: [[UInt8]]) throws -> ConversationCopy {
        var copy = ConversationCopy()
        for change in changes { try change.withUnsafeBytes { try copy.take(change: $0) } }
        return copy
    }

    @Test("a copy of the documented conversation has the documented digests, in whatever order it came")
    func equal() throws {
        #expect(try copy(changes).differences(from: [page]) == [])
        #expect(try copy(changes.reversed()).differences(from: [page]) == [])
    }

    @Test("a lost change, or a state that is older, is found")
    func different() throws {
        #expect(try copy(changes.dropLast()).differences(from: [page]) == ["the changes of positions 1 to 9"])
        let altered = changes.map { Array(String(decoding: $0, as: UTF8.self).replacing("ten?", with: "ten!").utf8) }
        #expect(try copy(altered).differences(from: [page]) == ["the state of positions 1 to 9"])
    }
}
