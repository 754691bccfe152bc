import Foundation
import Glibc
import ParleyPresentation

/// Paths as users write them.
enum UserPath {
    /// `~` is the user's own folder; what is not absolute is in the present one. What was dragged into the terminal, which
    /// quotes it as for a shell, is the file that it names.
    static func url(_ path: String) -> URL {
        let path = path.trimmingCharacters(in: .whitespacesAndNewlines)
        let literal = expanded(path), quoted = expanded(unquoted(path))
        let isQuoted = !isThere(literal) && isThere(quoted)
        return isQuoted ? quoted : literal
    }

    private static func isThere(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: url.path) }

    private static func expanded(_ path: String) -> URL {
        guard path == "~" || path.hasPrefix("~/") else { return URL(fileURLWithPath: path) }
        return FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(String(path.dropFirst(2)))
    }

    /// Without quotes around it, or else without the backslashes before its characters.
    private static func unquoted(_ path: String) -> String {
        if let mark = path.first, mark == "'" || mark == "\"", path.last == mark, path.count > 2 {
            return String(path.dropFirst().dropLast())
        }
        var result = ""
        var isEscaped = false
        for character in path {
            isEscaped = character == "\\" && !isEscaped
            if !isEscaped { result.append(character) }
        }
        return result
    }

    /// Copies a file to where the user says: into a folder under the name that is given, or under a name that is not taken.
    ///
    /// - Returns: for the user, what became of it.
    nonisolated static func copy(_ content: URL, to path: String, named name: String) async -> String {
        var target = url(path)
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: target.path, isDirectory: &isFolder), isFolder.boolValue {
            target.appendPathComponent(name)
        }
        let descriptor = open(target.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST || errno == ELOOP { return "Choose another name: there is already \(target.path)" }
            return "\(target.path) cannot be written: \(String(cString: strerror(errno)))."
        }
        let writer = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            let reader = try FileHandle(forReadingFrom: content)
            while let piece = try reader.read(upToCount: 1 << 20), !piece.isEmpty {
                try writer.write(contentsOf: piece)
            }
            try writer.close()
            return "Saved as \(target.path)."
        } catch {
            unlink(target.path)
            return "\(target.path) cannot be written: the disk may be full."
        }
    }
}
