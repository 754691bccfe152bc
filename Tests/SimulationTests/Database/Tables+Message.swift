import Models

extension Tables {
    /// A row of `store.messages`, with its `revisions` and `tapbacks`.
    struct Message {
        enum Kind: Int16 { case text = 1, reply, system }

        /// A text that was replaced by the change at `replaced`.
        struct Revision {
            let replaced: Int64
            let text: String?
            let at: Timestamp
        }

        struct Tapback {
            let user: UserID
            let kind: String
            let at: Timestamp
            let seq: Int64
        }

        let seq: Int64
        let id: MessageID
        let sender: UserID
        let kind: Kind
        var text: String?
        let parent: MessageID?
        let parentSeq: Int64?
        let sentAt: Timestamp
        let createdAt: Timestamp
        var editedAt: Timestamp?
        var deletedAt: Timestamp?
        var changed: Int64
        var revisions: [Revision] = []
        var tapbacks: [Tapback] = []
        /// JSON that a system message shows.
        var event: String?
    }
}

// Columns of `MessageRow`, as of the last position that the reader may see.
extension Tables.Message {
    private func nextRevision(asOf position: Int64) -> Revision? { revisions.first { $0.replaced > position } }

    /// Whether the message has data beyond its row.
    var hasMore: Bool { kind != .text || !tapbacks.isEmpty }

    func text(asOf position: Int64) -> String? {
        guard editedAt != nil, changed > position else { return text }
        return nextRevision(asOf: position)?.text ?? text
    }

    func editedAt(asOf position: Int64) -> Timestamp? {
        guard editedAt != nil, changed > position else { return editedAt }
        guard deletedAt == nil else { return nil }
        guard let next = nextRevision(asOf: position) else { return editedAt }
        return revisions.contains { $0.replaced <= position } ? next.at : nil
    }

    /// `[{"userId" : …, "kind" : …}]`, or nil if there are none.
    func tapbacksJSON(asOf position: Int64) -> String? {
        let shown = tapbacks.filter { $0.seq <= position }.sorted { $0.seq < $1.seq }
        guard !shown.isEmpty else { return nil }
        return "[" + shown.map { #"{"userId" : "\#($0.user)", "kind" : "\#($0.kind)"}"# }.joined(separator: ", ") + "]"
    }

    /// `{kind: n}` with its keys as jsonb has them, or nil if there are none.
    func tapbackCountsJSON(asOf position: Int64) -> String? {
        let shown = tapbacks.filter { $0.seq <= position }
        return shown.isEmpty ? nil : Self.countsJSON(shown)
    }

    static func countsJSON(_ tapbacks: [Tapback]) -> String {
        let counts = Dictionary(grouping: tapbacks, by: \.kind).mapValues(\.count).sorted {
            ($0.key.utf8.count, $0.key) < ($1.key.utf8.count, $1.key)
        }
        return "{" + counts.map { #""\#($0.key)": \#($0.value)"# }.joined(separator: ", ") + "}"
    }
}
