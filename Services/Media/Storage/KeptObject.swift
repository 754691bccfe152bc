import Models
import Postgres

/// What is kept of a file, as its row says.
struct KeptObject: Sendable {
    static let rowsAtOnce = 500

    let id: MediaID
    let version: Int64
    /// Of the content.
    let sha256: String
    let size: Int64
    let parts: [ObjectPart]

    init(id: MediaID, version: Int64, sha256: String, size: Int64, thumbnails: String?) {
        (self.id, self.version, self.sha256, self.size) = (id, version, sha256, size)
        // As `InspectedFacts.json` wrote it.
        parts = [.content] + [.small, .large].filter { thumbnails?.contains("\"size\":\"\($0.rawValue)\"") == true }
    }

    func name(_ part: ObjectPart) -> FileName { FileName(id, version, part) }

    /// - Parameter sizes: of what a storage has, by name.
    func has(_ part: ObjectPart, among sizes: [String: Int64]) -> Bool {
        guard let size = sizes[name(part).description] else { return false }
        // No row says how large a thumbnail is.
        return part != .content || size == self.size
    }
}

extension BlockingConnection {
    /// Calls `body` with all whose names begin with the byte `folder`, some at a time.
    func forEachKept(in folder: Int, _ body: (KeptObject) throws -> Void) throws {
        let last = MediaID(UUIDBytes(high: UInt64(folder) << 56 | UInt64.max >> 8, low: .max))
        // No id: it has no version.
        var after = MediaID(UUIDBytes(high: UInt64(folder) << 56, low: 0))
        while true {
            let some = try kept(after, last)
            for object in some { try body(object) }
            guard some.count == KeptObject.rowsAtOnce, let last = some.last else { return }
            after = last.id
        }
    }

    private func kept(_ after: MediaID, _ last: MediaID) throws -> [KeptObject] {
        let columns = MediaStatements.readyObjects.columns
        return try query(MediaStatements.readyObjects) { parameters, input in
            parameters.set(input.slots, to: Slot.all)
            parameters.set(input.after, to: after)
            parameters.set(input.last, to: last)
        }.map { row in
            KeptObject(
                id: row[columns.id], version: row[columns.version], sha256: row[columns.sha256],
                size: row[columns.size], thumbnails: row[columns.thumbnails])
        }
    }

    /// Whether it was not removed in the meantime.
    func isKept(_ object: KeptObject) throws -> Bool {
        let columns = MediaStatements.kept.columns
        let rows = try query(MediaStatements.kept) { parameters, input in
            parameters.set(input.slots, to: [object.id.slot])
            parameters.set(input.media, to: [object.id])
        }
        return rows.first.map { $0[columns.state] == .ready && $0[columns.version] == object.version } ?? false
    }
}
