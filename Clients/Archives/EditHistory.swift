import Foundation
import Models

/// What `message_summary_info` says of edits: for each part its texts with their times, the first the original, and which
/// parts were unsent.
struct EditHistory: Decodable {
    struct Edit: Decodable {
        let time: Timestamp?
        let text: String?

        private enum Key: CodingKey { case d, t }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            let seconds = try? container.decode(Double.self, forKey: .d)
            time = AppleTime.timestamp(seconds: try seconds ?? Double(container.decode(Int64.self, forKey: .d)))
            text = AttributedText(Array(try container.decode(Data.self, forKey: .t)))?.text
        }
    }

    let edits: [Int: [Edit]]
    let unsentParts: Set<Int>

    private enum Key: CodingKey { case ec, rp }

    private static let maximumBytes = 4 * 1024 * 1024
    /// Messages allows five of a part. Each makes a whole text.
    private static let maximumEdits = 200

    init() { (edits, unsentParts) = ([:], []) }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let named = try container.decodeIfPresent([String: [Edit]].self, forKey: .ec) ?? [:]
        edits = Dictionary(named.compactMap { name, edits in Int(name).map { ($0, edits) } }) { first, _ in first }
        unsentParts = Set(try container.decodeIfPresent([Int].self, forKey: .rp) ?? [])
    }

    /// Nil if the bytes are no such property list.
    init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.maximumBytes,
            let history = try? PropertyListDecoder().decode(EditHistory.self, from: Data(bytes)),
            history.edits.values.reduce(0, { $0 + $1.count }) <= Self.maximumEdits
        else { return nil }
        self = history
    }

    /// The whole text after each edit, the original first and `parts`, which are the present ones, last. Empty if nothing
    /// was edited.
    func revisions(of parts: [ChatText.Part], createdAt: Timestamp) -> [ImportRecord.Revision] {
        let edited = edits.filter { $0.value.count > 1 && !unsentParts.contains($0.key) }
        guard !edited.isEmpty else { return [] }
        let times = Set(edited.values.flatMap { $0.dropFirst().map { max($0.time ?? createdAt, createdAt) } }).sorted()
        var revisions = times.map {
            ImportRecord.Revision(text: Self.text(of: parts, edited, at: $0, createdAt), at: $0)
        }
        revisions.insert(.init(text: Self.text(of: parts, edited, at: nil, createdAt), at: createdAt), at: 0)
        revisions[revisions.count - 1].text = ChatText.joined(parts)
        return revisions
    }

    /// - Parameter time: nil for the texts before any edit.
    private static func text(
        of parts: [ChatText.Part], _ edited: [Int: [Edit]], at time: Timestamp?, _ createdAt: Timestamp
    ) -> String {
        ChatText.joined(
            parts.map { part in
                guard let number = part.number, let edits = edited[number] else { return part }
                let past = edits.dropFirst().filter { edit in
                    time.map { max(edit.time ?? createdAt, createdAt) <= $0 } ?? false
                }
                return ChatText.Part(number: number, text: (past.last ?? edits[0]).text ?? part.text)
            })
    }
}
