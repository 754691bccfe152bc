import ServiceKit

/// The address of this environment's development system. It comes from the variables, else from the settings that the
/// system in PARLEY_STATE was started with (`deploy/dev/up` writes them to `run/settings`), else from defaults.
package struct SystemSettings: Sendable {
    private let environment: [String: String]
    private let remembered: [String: String]

    package static let names = [
        "PARLEY_HOST", "PARLEY_HTTP_PORT", "PARLEY_WS_PORT", "PARLEY_INGESTS", "PARLEY_FANOUTS", "PARLEY_MEDIAS",
    ]

    package init(environment: Environment) {
        var environment = environment
        var values: [String: String] = [:]
        for name in Self.names { values[name] = environment.optionalString(name) }
        let state = environment.string("PARLEY_STATE", default: ".parley")
        self.init(environment: values, settingsFile: readTextFile("\(state)/run/settings") ?? "")
    }

    /// - Parameter settingsFile: lines of `NAME=value`.
    package init(environment: [String: String], settingsFile: String) {
        self.environment = environment
        remembered = Dictionary(
            settingsFile.split(separator: "\n").compactMap { line in
                let parts = line.split(separator: "=", maxSplits: 1)
                return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
            }, uniquingKeysWith: { $1 })
    }

    /// `PARLEY_STATE`, or its default if the system is not named by addresses either.
    package static func state(isSystemNamed: Bool) -> String? {
        var environment = Environment.process
        return environment.optionalString("PARLEY_STATE") ?? (isSystemNamed ? nil : ".parley")
    }

    /// The URLs of all ingest instances.
    package var http: [String] { urls("http", port: "PARLEY_HTTP_PORT", 8080, instances: "PARLEY_INGESTS") }

    /// The URLs of all fanout instances.
    package var webSocket: [String] { urls("ws", port: "PARLEY_WS_PORT", 8081, instances: "PARLEY_FANOUTS") }

    /// The URLs of all media instances, whose ports are 4 above those of ingest.
    package var media: [String] { urls("http", port: "PARLEY_HTTP_PORT", 8080, offset: 4, instances: "PARLEY_MEDIAS") }

    private func urls(
        _ scheme: String, port: String, _ usual: Int, offset: Int = 0, instances: String
    ) -> [String] {
        let first = (number(port) ?? usual) + offset
        let count = min(max(number(instances) ?? 1, 1), 100)
        return (0..<count).map { "\(scheme)://\(value("PARLEY_HOST") ?? "127.0.0.1"):\(first + 10 * $0)" }
    }

    private func number(_ name: String) -> Int? { value(name).flatMap { Int($0) } }

    private func value(_ name: String) -> String? { environment[name] ?? remembered[name] }
}
