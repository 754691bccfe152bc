import Models

/// The text of a message of Messages, with what a text cannot hold described in words.
struct ChatText {
    struct Part {
        /// Nil for what is described in words.
        var number: Int?
        var text: String
    }

    struct Attachment {
        let guid: String
        let name: String
        let type: String
        let isSticker: Bool
        let description: String

        var label: String {
            if isSticker { return description.isEmpty ? "[Sticker]" : "[Sticker: \(description)]" }
            return "[\(kind): \(name)]"
        }

        private var kind: String {
            let first = type.split(separator: "/").first.map(String.init) ?? ""
            return ["image": "Photo", "video": "Video", "audio": "Audio"][first] ?? "File"
        }
    }

    private(set) var parts: [Part]

    var text: String { Self.joined(parts) }

    static func joined(_ parts: [Part]) -> String {
        parts.map(\.text).filter { !$0.isEmpty }.joined(separator: "\n")
    }

    private static let placeholder: Unicode.Scalar = "\u{FFFC}"

    init(_ row: ChatRow, _ body: AttributedText, _ attachments: [Attachment], _ report: inout ArchiveReport) {
        var remaining = attachments
        parts = []
        for run in body.runs {
            let text = Self.named(run, &remaining, row, &report)
            // Without attributes there is one part.
            if let last = parts.last, last.number == run.part ?? 0 {
                parts[parts.count - 1].text += text
            } else {
                parts.append(Part(number: run.part ?? 0, text: text))
            }
        }
        parts += remaining.map { Part(number: nil, text: $0.label) }
        report.note(.attachments, attachments.count, attachments.first?.name)
        if let subject = row.subject, !subject.isEmpty { parts.insert(Part(number: nil, text: subject), at: 0) }
        if let description = Self.description(of: row, hasText: parts.contains { !MessageText.isBlank($0.text) }) {
            parts.append(Part(number: nil, text: description))
            report.note(.descriptions, 1, description)
        }
    }

    /// Puts the names of attachments in the places where they stand.
    private static func named(
        _ run: AttributedText.Run, _ remaining: inout [Attachment], _ row: ChatRow, _ report: inout ArchiveReport
    ) -> String {
        guard run.text.unicodeScalars.contains(placeholder) else { return run.text }
        var text = String.UnicodeScalarView()
        for scalar in run.text.unicodeScalars {
            guard scalar == placeholder else {
                text.append(scalar)
                continue
            }
            let index =
                run.attachment.flatMap { guid in remaining.firstIndex { $0.guid == guid } }
                ?? (remaining.isEmpty ? nil : 0)
            if let index {
                text.append(contentsOf: remaining.remove(at: index).label.unicodeScalars)
            } else if row.balloon == nil {
                // The balloon of an app stands in the same character.
                text.append(contentsOf: "[Attachment]".unicodeScalars)
                report.note(.missingAttachment, 1, row.guid)
            }
        }
        return String(text)
    }

    // MARK: What is no text

    private static let balloons: [(name: String, description: String)] = [
        ("Handwriting", "[Handwritten message]"), ("DigitalTouch", "[Digital Touch message]"), ("Polls", "[Poll]"),
        ("PeerPayment", "[Apple Cash]"), ("ActivityMessages", "[Activity]"), ("FindMy", "[Location]"),
        ("PhotosMessagesApp", "[Photos]"), ("Music", "[Music]"), ("gamepigeon", "[Game]"),
        ("Business", "[Business message]"),
    ]

    private static func description(of row: ChatRow, hasText: Bool) -> String? {
        if row.itemType != 0 { return event(row) }
        if row.isSticker { return hasText ? nil : "[Sticker]" }
        if row.associatedType == ChatRow.pollVote { return "[Poll vote]" }
        guard let balloon = row.balloon, !balloon.isEmpty else { return nil }
        // The preview of a link: the link is the text.
        if balloon.hasSuffix("URLBalloonProvider"), hasText { return nil }
        if let known = balloons.first(where: { balloon.contains($0.name) }) { return known.description }
        return "[App message: \(balloon.split(separator: ":").last ?? "")]"
    }

    /// The changes of a conversation that a message stands for.
    private static func event(_ row: ChatRow) -> String {
        switch (row.itemType, row.groupAction) {
        case (1, 0): "[Added somebody]"
        case (1, 1): "[Removed somebody]"
        case (2, _): row.groupTitle.isEmpty ? "[Removed the title]" : "[Named the conversation \"\(row.groupTitle)\"]"
        case (3, 0): "[Left the conversation]"
        case (3, 1): "[Changed the picture of the group]"
        case (3, 2): "[Removed the picture of the group]"
        case (3, 4): "[Changed the background]"
        case (3, 6): "[Removed the background]"
        case (4, _): row.isSharingStopped ? "[Stopped sharing the location]" : "[Started sharing the location]"
        case (5, _): "[Kept an audio message]"
        case (6, _): "[SharePlay]"
        default: "[Event of kind \(row.itemType), \(row.groupAction)]"
        }
    }
}
