import Archives
import Models

/// A line of `POST /v1/import`, and where it comes from.
struct ImportLine: Sendable {
    /// Without the line feed.
    let bytes: [UInt8]
    let kind: ImportRecord.Kind
    let conversation: ConversationID
    let place: SourcePlace
    /// How much of the archive lies before it, from 0 to 1.
    let share: Double

    init(_ record: SourceRecord, _ coding: RecordLine) throws {
        bytes = try record.line(coding)
        kind = record.kind
        conversation = record.conversation
        place = record.place
        share = record.share
    }

    init(
        bytes: [UInt8], kind: ImportRecord.Kind, conversation: ConversationID, place: SourcePlace, share: Double
    ) {
        self.bytes = bytes
        self.kind = kind
        self.conversation = conversation
        self.place = place
        self.share = share
    }
}
