import Foundation
import Models
import ReactorTransport

/// Where a command keeps what is of one user and one system, unless it is told another place.
enum UserDirectory {
    /// A user's name may have colons, and dots at its beginning.
    static func url(_ named: String?, _ purpose: String, of user: UserID, server: Endpoint) -> URL {
        if let named { return URL(fileURLWithPath: named, isDirectory: true) }
        let environment = ProcessInfo.processInfo.environment
        let data = environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? URL(fileURLWithPath: $0) : nil }
        let usual = FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(".local/share")
        return (data ?? usual).appendingPathComponent("parley", isDirectory: true)
            .appendingPathComponent("\(server.host):\(server.port)", isDirectory: true)
            .appendingPathComponent("\(purpose)-\(user.name)", isDirectory: true)
    }
}
