import CommandSupport
import Glibc

/// An executable that is installed with this one.
struct SiblingExecutable {
    /// The file next to this one, or else only the name, which is looked up in the path.
    let path: String

    init(_ name: String) {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &path, path.count - 1)
        let own = String(decoding: path.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
        let beside = own.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" } + "/\(name)"
        self.path = access(beside, X_OK) == 0 ? beside : name
    }

    /// Replaces this process with the executable. Returns only when that fails.
    func replaceProcess(_ words: [String]) throws(UsageError) -> Never {
        var arguments: [UnsafeMutablePointer<CChar>?] = ([path] + words).map { strdup($0) } + [nil]
        execvp(path, &arguments)
        let reason = String(cString: strerror(errno))
        for argument in arguments { free(argument) }
        throw UsageError("\(path) cannot be run: \(reason). It has to be where this program is, or in the path.")
    }
}
