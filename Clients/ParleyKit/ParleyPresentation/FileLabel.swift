import Foundation
import Models
import ParleyStorage

/// What is written for a file of a message: its name, and what it is like.
public struct FileLabel: Hashable, Sendable, Identifiable {
    public var id: MediaID
    public var kind: Attachment.Kind
    /// The name that the sender gave it, on one line and without anything that disturbs what is around it.
    public var name: String
    /// Such as "1.2 MB · 1280×720 · 0:42".
    public var details: String

    public init(_ attachment: Attachment) {
        id = attachment.id
        kind = attachment.kind
        name = HarmlessText.line(attachment.name, limit: 60)
        let parts = [Self.size(attachment.size), Self.dimensions(attachment), attachment.duration.flatMap(Self.time)]
        details = parts.compactMap(\.self).joined(separator: " · ")
    }

    public var text: String { name.isEmpty ? details : "\(name) · \(details)" }

    /// In units of 1,000: 999 B, 1.0 kB, 12.3 MB.
    public static func size(_ bytes: Int64) -> String {
        if bytes < 1000 { return "\(max(0, bytes)) B" }
        // A stranger may have named any size.
        var tenths = bytes / 100 + (bytes % 100 < 50 ? 0 : 1)
        for unit in ["kB", "MB", "GB"] {
            if tenths < 10_000 || unit == "GB" { return "\(tenths / 10).\(tenths % 10) \(unit)" }
            tenths = (tenths + 500) / 1000
        }
        return ""
    }

    private static func dimensions(_ attachment: Attachment) -> String? {
        guard let width = attachment.width, let height = attachment.height else { return nil }
        return "\(width)×\(height)"
    }

    /// `0:42`, `1:02:03`. Nil for what is no duration.
    private static func time(_ seconds: Double) -> String? {
        guard seconds.isFinite, (0..<360_000).contains(seconds) else { return nil }
        let whole = Int(seconds.rounded())
        let minutes = "\(whole / 60 % 60)"
        let end = (whole % 60 < 10 ? "0" : "") + "\(whole % 60)"
        guard whole >= 3600 else { return "\(minutes):\(end)" }
        return "\(whole / 3600):\(minutes.count < 2 ? "0" : "")\(minutes):\(end)"
    }
}

/// A name for a file that a stranger sent, under which it can be saved: it stays in its folder, is visible there, and is
/// taken neither for an option of a command nor for another kind of file.
public enum SafeFileName {
    private static let mostBytes = 200

    public static func of(_ name: String) -> String {
        let shown = HarmlessText.line(name, limit: 2 * mostBytes)
        // U+202E and its like, which show "gpj.exe" as "exe.jpg", are not in a harmless text; these are separators.
        let last = shown.split { $0 == "/" || $0 == "\\" || $0 == ":" }.last ?? ""
        let start = last.drop { $0 == "." || $0 == "-" || $0 == "~" || $0.isWhitespace }
        return fitted(String(start))
    }

    /// The end tells what kind of file it is, so the middle is left out.
    private static func fitted(_ name: String) -> String {
        guard name.utf8.count > mostBytes else { return name.isEmpty ? "file" : name }
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        let end = name[dot...].utf8.count <= 16 ? String(name[dot...]) : ""
        var start = ""
        for character in name where start.utf8.count + character.utf8.count + end.utf8.count <= mostBytes {
            start.append(character)
        }
        return start + end
    }
}
