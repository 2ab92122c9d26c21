// SPDX-License-Identifier: GPL-2.0-or-later
@_exported public import Addresses

extension Endpoint {
  public static let discoveryPort: UInt16 = 20808
  /// 224.76.78.75, to which every peer announces itself.
  public static let discoveryGroupV4 = Endpoint(.v4(0xe04c_4e4b), port: discoveryPort)
  /// ff12::8080; to be scoped to the interface it leaves by.
  public static let discoveryGroupV6 = Endpoint(
    .v6(high: 0xff12_0000_0000_0000, low: 0x8080, scope: 0), port: discoveryPort)

  /// The group that a gateway with this address announces itself to.
  public static func discoveryGroup(for gateway: Address) -> Endpoint {
    switch gateway {
    case .v4: discoveryGroupV4
    case .v6(_, _, let scope):
      Endpoint(discoveryGroupV6.address.scoped(scope), port: discoveryPort)
    }
  }
}
