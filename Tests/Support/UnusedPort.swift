import Glibc

/// Returns a random TCP port of this machine without a listener. It lies below the range for outgoing connections, and
/// is random so that parallel test processes do not collide.
package func unusedPort() -> UInt16 {
    while true {
        let port = UInt16.random(in: 15_000..<30_000)
        if isUnused(port) { return port }
    }
}

private func isUnused(_ port: UInt16) -> Bool {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    } == 0
}
