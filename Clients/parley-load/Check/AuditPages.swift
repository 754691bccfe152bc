import JSON
import Models

/// The pages that an audit reads, entry by entry. Nothing is built from fields that it does not compare.
enum AuditPage {
    struct End {
        var hasMore = false
        var lastSeq: Int64 = 0
    }

    /// `GET …/messages`. System messages have no id here: they are changes of another kind.
    ///
    /// - Parameter text: the form that every text must have. Nil when some were edited or deleted.
    static func history(
        _ document: UnsafeRawBufferPointer, _ text: LoadText?,
        _ take: (_ id: MessageID?, _ seq: Int64, _ isIntact: Bool) -> Void
    ) throws(JSONError) -> End {
        try read(document, list: "messages", more: "hasMoreAfter") { reader throws(JSONError) in
            var id: MessageID?
            var seq: Int64 = 0
            var (isIntact, isSystem) = (true, false)
            try reader.beginObject()
            while let key = try reader.nextKey() {
                switch key {
                case "id": id = try reader.messageID()
                case "seq": seq = try reader.integer()
                case "kind": isSystem = try reader.slice() == "system"
                case "text":
                    let isThere = try !reader.consumeNull()
                    let content = isThere ? try reader.slice().encoded : nil
                    if let text { isIntact = content.map(text.matches) ?? false }
                default: try reader.skip()
                }
            }
            take(isSystem ? nil : id, seq, isIntact)
        }
    }

    /// `GET …/changes`.
    static func changes(_ document: UnsafeRawBufferPointer, _ take: (Int64) -> Void) throws(JSONError) -> End {
        try read(document, list: "changes", more: "more") { reader throws(JSONError) in
            var seq: Int64 = 0
            try reader.beginObject()
            while let key = try reader.nextKey() {
                if key == "seq" { seq = try reader.integer() } else { try reader.skip() }
            }
            take(seq)
        }
    }

    private static func read(
        _ document: UnsafeRawBufferPointer, list: StaticString, more: StaticString,
        _ element: (inout JSONReader) throws(JSONError) -> Void
    ) throws(JSONError) -> End {
        var end = End()
        var reader = JSONReader(document)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if key == list {
                try reader.beginArray()
                while try reader.nextElement() { try element(&reader) }
            } else if key == more {
                end.hasMore = try reader.bool()
            } else if key == "lastSeq" {
                end.lastSeq = try reader.integer()
            } else {
                try reader.skip()
            }
        }
        try reader.end()
        return end
    }
}
