import Glibc

/// The content of a small text file, or nil with the reason in `errno`. Bytes that are not UTF-8 are replaced.
public func readTextFile(_ path: String) -> String? {
    readFile(path).map { String(decoding: $0, as: UTF8.self) }
}

/// The content of a file, or what it begins with up to a bound and one chunk more, or nil with the reason in `errno`.
public func readFile(_ path: String, upTo bound: Int = .max) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var content: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
        let count = read(descriptor, &chunk, chunk.count)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { return nil }
        if count == 0 { return content }
        content += chunk[..<count]
        if content.count >= bound { return content }
    }
}
