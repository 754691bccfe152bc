import Glibc
import ServiceKit

/// The processes of a development system: the services (found by pid files), PostgreSQL (its postmaster and children),
/// and this generator.
struct SystemProcesses: Sendable {
    /// The CPU time and memory of a process. PostgreSQL's processes are combined.
    struct Reading: Sendable {
        let name: String
        let cpuSeconds: Double
        let residentBytes: Int
    }

    static let generator = "generator"
    static let database = "postgres"

    /// `PARLEY_STATE`, or nil when the system is on another machine or unknown.
    let state: String?

    func read() -> [Reading] {
        services().compactMap { name, pid in ProcessFigures(pid: pid).map { Reading(name, $0) } }
            + [postgres(), ProcessFigures(pid: getpid()).map { Reading(Self.generator, $0) }].compactMap(\.self)
    }

    func reading(of name: String) -> Reading? { read().first { $0.name == name } }

    // MARK: Discovery

    private func services() -> [(name: String, pid: Int32)] {
        guard let state, let directory = opendir("\(state)/run") else { return [] }
        defer { closedir(directory) }
        var found: [(name: String, pid: Int32)] = []
        while let entry = Glibc.readdir(directory) {
            let file = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard file.hasSuffix(".pid"), let pid = Self.number(in: "\(state)/run/\(file)") else { continue }
            found.append((String(file.dropLast(4)), pid))
        }
        return found.sorted { $0.name < $1.name }
    }

    /// Memory shared by the processes is counted once: the largest resident size, plus what is private to the others.
    private func postgres() -> Reading? {
        guard let state, let postmaster = Self.number(in: "\(state)/postgres/postmaster.pid"),
            let figures = ProcessFigures(pid: postmaster)
        else { return nil }
        let all = [figures] + Self.children(of: postmaster).compactMap(ProcessFigures.init(pid:))
        let shared = all.map { $0.residentBytes - $0.anonymousBytes }.max() ?? 0
        return Reading(
            name: Self.database,
            cpuSeconds: all.reduce(figures.endedChildrenSeconds) { $0 + $1.cpuSeconds },
            residentBytes: all.reduce(shared) { $0 + $1.anonymousBytes })
    }

    private static func children(of pid: Int32) -> [Int32] {
        guard let list = readTextFile("/proc/\(pid)/task/\(pid)/children") else { return [] }
        return list.split(whereSeparator: { $0 == " " || $0 == "\n" }).compactMap { Int32($0) }
    }

    /// Returns the number in the first line of a file.
    private static func number(in path: String) -> Int32? {
        readTextFile(path)?.split(separator: "\n").first.flatMap { Int32($0) }
    }
}

extension SystemProcesses.Reading {
    fileprivate init(_ name: String, _ figures: ProcessFigures) {
        self.init(name: name, cpuSeconds: figures.cpuSeconds, residentBytes: figures.residentBytes)
    }
}
