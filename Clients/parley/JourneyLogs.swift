import Glibc
import ServiceKit

/// The logs of a development system or of other services.
enum JourneyLogs {
    static func files(inState state: String) -> [String] {
        var result = glob_t()
        defer { globfree(&result) }
        guard glob("\(state)/logs/*-*.log", 0, nil, &result) == 0 else { return [] }
        return (0..<Int(result.gl_pathc)).map { String(cString: result.gl_pathv[$0]!) }
    }

    /// Returns the lines about traced requests, or nil when the file cannot be read.
    static func read(_ path: String) -> [JourneyLine]? {
        readTextFile(path)?.split(separator: "\n").compactMap { JourneyLine($0) }
    }
}
